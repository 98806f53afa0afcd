/** Signed links and tokens, for people and players without a key. */

import type { ResultOf } from "./connection.ts";
import { Part } from "./part.ts";
import type { Item, JsonBody } from "./part.ts";

export type Link = ResultOf<"post", "/api/v1/links">;
type LinkOptions = Partial<Omit<JsonBody<"/api/v1/links">, "url">>;

export class Links extends Part {
  /** Makes a link to media at a URL of the service, valid for a day by default. */
  create(url: string, options: LinkOptions = {}): Promise<Link> {
    const body = { ...options, url } as JsonBody<"/api/v1/links">;
    return this.connection.request("post", "/api/v1/links", { body });
  }

  /** Yields all links, newest first. */
  list(): AsyncGenerator<Item<"/api/v1/links">> {
    return this.items("/api/v1/links", "links");
  }

  async revoke(id: string): Promise<void> {
    await this.connection.send(`/api/v1/links/${id}`, { method: "DELETE" });
  }

  /** Returns a token for a URL of the service and all below it, valid for an hour. */
  async token(url: string, params?: Record<string, string>): Promise<string> {
    const body = params === undefined ? { url } : { url, params };
    return (await this.connection.request("post", "/api/v1/url-token", { body })).token;
  }
}
