/** The API of this service, with the session of the browser, and what the pages share of it. */

import {
  Client,
  FramekilnError,
  ServiceUnreachable,
} from "../../../clients/typescript/src/index.ts";
import type { Method, PathOf, ResultOf } from "../../../clients/typescript/src/connection.ts";

export { FramekilnError, ServiceUnreachable } from "../../../clients/typescript/src/index.ts";
export type { Render, Video } from "../../../clients/typescript/src/index.ts";
export type { ResultOf };

/** Reads give up soon: a page shows the error and offers to try again. */
export const client = new Client({ baseUrl: location.origin, retryWithinMs: 5_000 });

/** Sends any request of the API. */
export const request = client.request.bind(client) as <M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  parts?: Parameters<typeof client.request<M, P>>[2],
) => Promise<ResultOf<M, P>>;

/** The message of an error for people, and the field that it is about. */
export interface Problem {
  message: string;
  code: string;
  field: string | null;
  /** All that is wrong, if the service has listed it. */
  issues: readonly Issue[];
}

export interface Issue {
  path: string;
  message: string;
}

/** As the browsers call a connection that could not be made, or broke. */
const NETWORK = /network|fetch|load failed|input stream/i;

export function problemOf(error: unknown): Problem {
  const isUnreachable = error instanceof ServiceUnreachable && error.status === null;
  if (isUnreachable || (error instanceof TypeError && NETWORK.test(error.message))) {
    const message = "The service does not answer. Try again in a moment.";
    return { message, code: "service_unreachable", field: null, issues: [] };
  }
  if (error instanceof FramekilnError) {
    const issues = issuesOf(error.details);
    const field = error.details["field"] ?? issues[0]?.path;
    // The client adds the status for logs.
    const message = error.message.replace(/ \(\d{3}\)(?=\. |$)/, "");
    return { message, code: error.code, field: typeof field === "string" ? field : null, issues };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { message, code: "", field: null, issues: [] };
}

/** `errors` has the texts of a layer config by path, `issues` the codes and hints. */
function issuesOf(details: Record<string, unknown>): Issue[] {
  const { issues, errors } = details;
  const texts = (errors ?? {}) as Record<string, string[]>;
  if (!Array.isArray(issues)) return [];
  return (issues as Record<string, unknown>[]).map(({ path, code, hint }) => {
    const name = String(path ?? "");
    const text = texts[name]?.[0] ?? hint ?? String(code ?? "").replaceAll("_", " ");
    return { path: name, message: String(text) };
  });
}

export function isLoggedOut(error: unknown): boolean {
  return error instanceof FramekilnError && error.status === 401;
}
