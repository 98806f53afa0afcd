/** Templates: layer configs with named inputs, in versions. */

import type { ResultOf } from "./connection.ts";
import { Part } from "./part.ts";
import type { Item, JsonBody } from "./part.ts";

export type Template = ResultOf<"get", "/v2/templates/{template_id}">["data"];
export type CreateTemplate = JsonBody<"/v2/templates">;
export type TemplateVersion = Item<"/v2/templates/{template_id}/versions">;
export type TemplateSource = ResultOf<
  "get",
  "/v2/templates/{template_id}/versions/{number}"
>["data"];
type RenderTemplate = JsonBody<"/v2/templates/{template_id}/render">;
type RenderAnswer = ResultOf<"post", "/v2/templates/{template_id}/render">;
type Rendered = RenderAnswer["data"]["video"] & {
  warnings: NonNullable<RenderAnswer["warnings"]>;
};

export class Templates extends Part {
  /** Stores a layer config with named inputs. */
  create(body: CreateTemplate): Promise<ResultOf<"post", "/v2/templates">> {
    return this.connection.request("post", "/v2/templates", { body } as never);
  }

  /** Makes the next version of a template; earlier ones are kept. */
  update(
    id: string,
    body: JsonBody<"/v2/templates/{template_id}", "put">,
  ): Promise<ResultOf<"put", "/v2/templates/{template_id}">> {
    const path = { template_id: id };
    return this.connection.request("put", "/v2/templates/{template_id}", { path, body } as never);
  }

  async get(id: string): Promise<Template> {
    const path = { template_id: id };
    return (await this.connection.request("get", "/v2/templates/{template_id}", { path })).data;
  }

  /** Yields templates, newest first. */
  list(): AsyncGenerator<Item<"/v2/templates">> {
    return this.numberedItems("/v2/templates");
  }

  /** Yields the versions of a template, newest first. */
  versions(id: string): AsyncGenerator<TemplateVersion> {
    return this.numberedItems("/v2/templates/{template_id}/versions", { template_id: id });
  }

  /** Returns a version as it was sent: config, inputs and default values. */
  async version(id: string, number: number): Promise<TemplateSource> {
    const path = { template_id: id, number };
    const address = "/v2/templates/{template_id}/versions/{number}";
    return (await this.connection.request("get", address, { path })).data;
  }

  /** Checks a template without storing it; with data, it also returns the filled config. */
  check(body: JsonBody<"/v2/templates/check">): Promise<ResultOf<"post", "/v2/templates/check">> {
    return this.connection.request("post", "/v2/templates/check", { body } as never);
  }

  /** Returns the JSON Schema of the data of a template. */
  schema(
    id: string,
    query: { version?: number } = {},
  ): Promise<ResultOf<"get", "/v2/templates/{template_id}/schema">> {
    return this.connection.request("get", "/v2/templates/{template_id}/schema", {
      path: { template_id: id },
      query,
    });
  }

  /** Fills a template with data and creates the video; see its `warnings`. */
  async render(
    id: string,
    data: Record<string, unknown>,
    options: Omit<RenderTemplate, "data"> = {},
  ): Promise<Rendered> {
    const made = await this.connection.request("post", "/v2/templates/{template_id}/render", {
      path: { template_id: id },
      body: { ...options, data: data as never },
    });
    return { ...made.data.video, warnings: made.warnings ?? [] };
  }

  /** Deletes a template; its videos are kept. */
  async delete(id: string): Promise<void> {
    await this.connection.send(`/v2/templates/${id}`, { method: "DELETE" });
  }
}
