/** Runs of pipelines on files, one by one and in batches. */

import type { ResultOf } from "./connection.ts";
import { keyHeaders, Part } from "./part.ts";
import type { Filter, IdempotencyOptions, Item, JsonBody } from "./part.ts";

export type Run = ResultOf<"get", "/api/v1/pipeline-runs/{run_id}">;
export type Batch = ResultOf<"get", "/api/v1/pipeline-batches/{batch_id}">;

export interface RunWaitOptions {
  /** Called with the run each time it was read. */
  onRun?: (run: Run) => void;
  signal?: AbortSignal;
}

export class Runs extends Part {
  /** Starts a run; returns it and whether it is new. */
  create(
    body: JsonBody<"/api/v1/pipeline-runs">,
    { idempotencyKey }: IdempotencyOptions = {},
  ): Promise<ResultOf<"post", "/api/v1/pipeline-runs">> {
    const headers = keyHeaders(idempotencyKey);
    return this.connection.request("post", "/api/v1/pipeline-runs", { body, headers });
  }

  get(id: string): Promise<Run> {
    return this.connection.request("get", "/api/v1/pipeline-runs/{run_id}", {
      path: { run_id: id },
    });
  }

  /** Yields runs, newest first. */
  list(query: Filter<"/api/v1/pipeline-runs"> = {}): AsyncGenerator<Item<"/api/v1/pipeline-runs">> {
    return this.items("/api/v1/pipeline-runs", "runs", { query });
  }

  /** Returns a run when it has ended, with any status. */
  wait(id: string, { onRun, signal }: RunWaitOptions = {}): Promise<Run> {
    const read = async (): Promise<Run> => {
      const run = await this.get(id);
      onRun?.(run);
      return run;
    };
    return this.poll(read, (run) => !["pending", "running"].includes(run.status), signal);
  }

  /** Returns the attempts of endpoint steps: when each waited, was sent and ended. */
  async attempts(
    id: string,
  ): Promise<ResultOf<"get", "/api/v1/pipeline-runs/{run_id}/attempts">["attempts"]> {
    const path = { run_id: id };
    const address = "/api/v1/pipeline-runs/{run_id}/attempts";
    return (await this.connection.request("get", address, { path })).attempts;
  }

  cancel(id: string): Promise<ResultOf<"post", "/api/v1/pipeline-runs/{run_id}/cancel">> {
    const path = { run_id: id };
    return this.connection.request("post", "/api/v1/pipeline-runs/{run_id}/cancel", { path });
  }

  /** Continues a run that failed or was cancelled. */
  retry(id: string): Promise<ResultOf<"post", "/api/v1/pipeline-runs/{run_id}/retry">> {
    const path = { run_id: id };
    return this.connection.request("post", "/api/v1/pipeline-runs/{run_id}/retry", { path });
  }

  /** Yields all that a run wrote to a namespace, in order. */
  outputs(
    id: string,
    namespace: string,
  ): AsyncGenerator<Item<"/api/v1/pipeline-runs/{run_id}/outputs/{namespace}">> {
    return this.items("/api/v1/pipeline-runs/{run_id}/outputs/{namespace}", "outputs", {
      places: { run_id: id, namespace },
    });
  }
}

export class Batches extends Part {
  /** Runs a pipeline on files; returns the batch and whether it is new. */
  create(
    body: JsonBody<"/api/v1/pipeline-batches">,
    { idempotencyKey }: IdempotencyOptions = {},
  ): Promise<ResultOf<"post", "/api/v1/pipeline-batches">> {
    const headers = keyHeaders(idempotencyKey);
    return this.connection.request("post", "/api/v1/pipeline-batches", { body, headers });
  }

  get(id: string): Promise<Batch> {
    return this.connection.request("get", "/api/v1/pipeline-batches/{batch_id}", {
      path: { batch_id: id },
    });
  }

  /** Yields batches, newest first. */
  list(): AsyncGenerator<Item<"/api/v1/pipeline-batches">> {
    return this.items("/api/v1/pipeline-batches", "batches");
  }

  /** Cancels the runs of a batch that have not ended. */
  cancel(id: string): Promise<ResultOf<"post", "/api/v1/pipeline-batches/{batch_id}/cancel">> {
    const path = { batch_id: id };
    return this.connection.request("post", "/api/v1/pipeline-batches/{batch_id}/cancel", { path });
  }
}
