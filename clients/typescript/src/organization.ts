/** The organization of the key: its quotas, its changes, and feedback to the operator. */

import type { ResultOf } from "./connection.ts";
import { Retry } from "./connection.ts";
import { ServiceUnreachable } from "./errors.ts";
import { readEvents } from "./events.ts";
import { Part } from "./part.ts";
import type { Filter, Item, JsonBody } from "./part.ts";

export class Organization extends Part {
  /** Returns the organization; a wrong key throws. */
  get(): Promise<ResultOf<"get", "/api/v1/organization">> {
    return this.connection.request("get", "/api/v1/organization");
  }

  /** Returns what the organization used on each of the last days, oldest first. */
  async usage(days = 30): Promise<ResultOf<"get", "/api/v1/organization/usage">["days"]> {
    const query = { days };
    return (await this.connection.request("get", "/api/v1/organization/usage", { query })).days;
  }

  /** Yields who changed what, newest first. */
  auditLog(query: Filter<"/api/v1/audit"> = {}): AsyncGenerator<Item<"/api/v1/audit">> {
    return this.items("/api/v1/audit", "events", { query });
  }

  /** Yields whenever anything may have changed: at once, and after a broken connection too. */
  async *changes(signal?: AbortSignal): AsyncGenerator<void> {
    const retry = new Retry(this.connection.retryWithinMs);
    for (;;) {
      try {
        const request = { method: "GET", signal };
        const response = await this.connection.send("/api/v1/activity", request);
        for await (const event of readEvents(response)) {
          retry.recordProgress();
          if (event.name === "changed") yield;
        }
        throw new ServiceUnreachable("the activity ended");
      } catch (error) {
        const isBroken = error instanceof TypeError && !signal?.aborted;
        await retry.pauseAfter(isBroken ? new ServiceUnreachable(String(error)) : error, signal);
      }
    }
  }

  /** Writes feedback to the log of the operator. */
  sendFeedback(body: JsonBody<"/api/v1/feedback">): Promise<ResultOf<"post", "/api/v1/feedback">> {
    return this.connection.request("post", "/api/v1/feedback", { body });
  }
}
