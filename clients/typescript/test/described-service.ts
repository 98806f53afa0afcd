/** Stands in for the service: answers each request as its OpenAPI document describes. */

interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
}

interface Operation {
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const METHODS = ["get", "post", "put", "patch", "delete"];
const UNENDED = new Set(["created", "pending", "queued", "running", "receiving", "processing"]);
const EVENTS =
  'event: changed\ndata: {}\n\nevent: progress\ndata: {"progress": 1}\n\nevent: complete\ndata: {}\n\n';
const SAMPLES: Record<string, unknown> = { integer: 1, number: 1, boolean: true };

export class DescribedService {
  /** The operations that were asked for, such as `GET /api/v1/files`. */
  readonly asked = new Set<string>();
  readonly #document: Document;
  readonly #answers: Record<string, unknown>;
  readonly #patterns: [string, RegExp][];

  /** `answers` are given instead of samples. */
  constructor(document: Document, answers: Record<string, unknown> = {}) {
    this.#document = document;
    this.#answers = answers;
    const places = (path: string): number => path.split("{").length;
    this.#patterns = Object.keys(document.paths)
      .sort((one, other) => places(one) - places(other) || other.length - one.length)
      .map((path) => [path, patternOf(path)]);
  }

  /** All operations of the document. */
  get operations(): Set<string> {
    const entries = Object.entries(this.#document.paths);
    const names = entries.flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => METHODS.includes(method))
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
    return new Set(names);
  }

  readonly fetch = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const { pathname } = new URL(String(input));
    const path = this.#patterns.find(([, pattern]) => pattern.test(pathname))?.[0];
    if (path === undefined) throw new Error(`the document has no ${pathname}`);
    const method = init?.method ?? "GET";
    this.asked.add(`${method} ${path}`);
    const answer = this.#answers[`${method} ${path}`];
    if (answer !== undefined) return Response.json(answer);
    const responses = this.#document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
    const status = Object.keys(responses)
      .sort()
      .find((each) => each.startsWith("2"));
    const content = responses[status ?? ""]?.content ?? {};
    if ("text/event-stream" in content) return new Response(EVENTS);
    const json = content["application/json"];
    if (json === undefined) return new Response("content", { status: Number(status) });
    return Response.json(this.#sample(json.schema ?? {}), { status: Number(status) });
  };

  #sample(schema: Schema, name = ""): unknown {
    if (schema.$ref !== undefined) {
      const found = this.#document.components.schemas[schema.$ref.split("/").at(-1) ?? ""];
      return this.#sample(found ?? {}, name);
    }
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices !== undefined) {
      const isNullable = choices.some((each) => each.type === "null");
      if (isNullable && ["next_cursor", "error"].includes(name)) return null;
      return this.#sample(choices[0] ?? {}, name);
    }
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) {
      return schema.enum.find((each) => !UNENDED.has(String(each))) ?? schema.enum[0];
    }
    if (schema.type === "array") return [this.#sample(schema.items ?? {})];
    if (schema.properties !== undefined) {
      // Only what failed has an error.
      const given = Object.entries(schema.properties).filter(
        ([key]) => key !== "error" || schema.required?.includes(key),
      );
      return Object.fromEntries(given.map(([key, part]) => [key, this.#sample(part, key)]));
    }
    return schema.type === "string" ? name : (SAMPLES[schema.type ?? ""] ?? {});
  }
}

function patternOf(path: string): RegExp {
  const parts = path.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^$()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^/]+")}$`);
}
