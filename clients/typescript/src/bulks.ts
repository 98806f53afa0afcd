/** Bulks: a video for each row of a table, from one template. */

import type { ResultOf } from "./connection.ts";
import { keyHeaders, Part, withQuery } from "./part.ts";
import type { IdempotencyOptions, Item, WaitOptions } from "./part.ts";
import type { CreateVideo } from "./videos.ts";

export type Bulk = ResultOf<"get", "/v2/bulks/{bulk_id}">["data"];
/** A bulk that was just requested, with what has no effect in its rows. */
export type CreatedBulk = Bulk & {
  warnings: NonNullable<ResultOf<"post", "/v2/templates/{template_id}/bulk">["warnings"]>;
};
export type BulkRow = Item<"/v2/bulks/{bulk_id}/rows">;
export type TableType = "text/csv" | "application/json" | "application/jsonl";

type Destinations = CreateVideo["destinations"];

export interface BulkOptions extends IdempotencyOptions {
  /** The version of the template, by default the latest. */
  version?: number;
}

export class Bulks extends Part {
  /** Makes a video of each row; see its `warnings`. Without `destinations`, it has the template's. */
  create(
    templateId: string,
    rows: Record<string, unknown>[],
    { destinations, ...options }: BulkOptions & { destinations?: Destinations } = {},
  ): Promise<CreatedBulk> {
    const table = JSON.stringify({ rows, destinations });
    return this.createFromTable(templateId, table, "application/json", options);
  }

  /** Makes a video of each row of a table in CSV, JSON or JSON Lines. */
  async createFromTable(
    templateId: string,
    table: string | Blob,
    type: TableType,
    { version, idempotencyKey }: BulkOptions = {},
  ): Promise<CreatedBulk> {
    const address = withQuery(`/v2/templates/${templateId}/bulk`, { version });
    const headers = { "Content-Type": type, ...keyHeaders(idempotencyKey) };
    // The key makes retries safe.
    const request = { method: "POST", headers, body: table };
    const response = await this.connection.retried(address, request);
    const { data, warnings } = (await response.json()) as {
      data: Bulk;
      warnings?: CreatedBulk["warnings"];
    };
    return { ...data, warnings: warnings ?? [] };
  }

  /** Yields bulks, newest first. */
  list(): AsyncGenerator<Item<"/v2/bulks">> {
    return this.numberedItems("/v2/bulks");
  }

  async get(id: string): Promise<Bulk> {
    const path = { bulk_id: id };
    return (await this.connection.request("get", "/v2/bulks/{bulk_id}", { path })).data;
  }

  /** Returns a bulk when all its rows have ended; rows may have failed. */
  wait(id: string, { onProgress, signal }: WaitOptions = {}): Promise<Bulk> {
    const read = async (): Promise<Bulk> => {
      const bulk = await this.get(id);
      onProgress?.(bulk.progress);
      return bulk;
    };
    return this.poll(read, (bulk) => bulk.status !== "running", signal);
  }

  /** Yields the rows with their results, in order. */
  rows(id: string): AsyncGenerator<BulkRow> {
    return this.numberedItems("/v2/bulks/{bulk_id}/rows", { bulk_id: id });
  }

  /** Starts no more rows and stops those under way; finished videos stay. */
  async cancel(id: string): Promise<Bulk> {
    const path = { bulk_id: id };
    return (await this.connection.request("post", "/v2/bulks/{bulk_id}/cancel", { path })).data;
  }

  /** Returns the videos of a bulk that has ended as a ZIP file. */
  download(id: string, signal?: AbortSignal): Promise<Response> {
    return this.media(`/v2/bulks/${id}/download`, signal);
  }

  /** Returns the results of all rows as a table, also while the bulk runs. */
  manifest(id: string, format: "json" | "csv" = "json"): Promise<Response> {
    return this.media(withQuery(`/v2/bulks/${id}/manifest`, { format }));
  }
}
