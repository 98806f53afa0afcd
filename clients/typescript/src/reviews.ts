/** Review tasks of pipelines. */

import type { ResultOf } from "./connection.ts";
import { Part } from "./part.ts";
import type { Filter, Item, JsonBody } from "./part.ts";

export type Review = ResultOf<"get", "/api/v1/pipeline-reviews/{review_id}">;
type Link = ResultOf<"post", "/api/v1/pipeline-reviews/{review_id}/links">;

export class Reviews extends Part {
  get(id: string): Promise<Review> {
    return this.connection.request("get", "/api/v1/pipeline-reviews/{review_id}", {
      path: { review_id: id },
    });
  }

  /** Yields tasks, newest first. */
  list(
    query: Filter<"/api/v1/pipeline-reviews"> = {},
  ): AsyncGenerator<Item<"/api/v1/pipeline-reviews">> {
    return this.items("/api/v1/pipeline-reviews", "reviews", { query });
  }

  /** Returns what a person needs to decide: the file and the outputs of earlier steps. */
  inputs(id: string): Promise<ResultOf<"get", "/api/v1/pipeline-reviews/{review_id}/inputs">> {
    const path = { review_id: id };
    return this.connection.request("get", "/api/v1/pipeline-reviews/{review_id}/inputs", { path });
  }

  /** Makes a link to the page of a task, for somebody without an account. */
  createLink(
    id: string,
    body: JsonBody<"/api/v1/pipeline-reviews/{review_id}/links"> = {},
  ): Promise<Link> {
    const parts = { path: { review_id: id }, body };
    return this.connection.request("post", "/api/v1/pipeline-reviews/{review_id}/links", parts);
  }

  /** Lets a run continue, with corrections if there are any. */
  approve(
    id: string,
    body: JsonBody<"/api/v1/pipeline-reviews/{review_id}/approve"> = {},
  ): Promise<Review> {
    const parts = { path: { review_id: id }, body };
    return this.connection.request("post", "/api/v1/pipeline-reviews/{review_id}/approve", parts);
  }

  /** Ends a run. */
  reject(
    id: string,
    body: JsonBody<"/api/v1/pipeline-reviews/{review_id}/reject"> = {},
  ): Promise<Review> {
    const parts = { path: { review_id: id }, body };
    return this.connection.request("post", "/api/v1/pipeline-reviews/{review_id}/reject", parts);
  }
}
