/** Progress streams, followed to their last event. */

import type { Connection } from "./connection.ts";
import { Retry } from "./connection.ts";
import { ProgressFailed, ServiceUnreachable } from "./errors.ts";
import { readEvents } from "./events.ts";

export type OnFraction = (fraction: number) => void;

/** Returns when a stream reports `complete`; throws the reason of a failure. */
export async function followProgress(
  connection: Connection,
  address: string,
  onFraction: OnFraction = () => undefined,
  signal?: AbortSignal,
): Promise<void> {
  const retry = new Retry(connection.retryWithinMs);
  for (;;) {
    try {
      const response = await connection.send(address, { method: "GET", signal });
      for await (const event of readEvents(response)) {
        retry.recordProgress();
        if (event.name === "complete") return;
        if (event.name === "error") {
          throw new ProgressFailed(event.data, event.data.split(":")[0] ?? "failed");
        }
        if (event.name === "progress") onFraction(Number(JSON.parse(event.data).progress ?? 0));
      }
      throw new ServiceUnreachable(`${address} ended before its last event`);
    } catch (error) {
      const isBroken = error instanceof TypeError && !signal?.aborted;
      await retry.pauseAfter(isBroken ? new ServiceUnreachable(String(error)) : error, signal);
    }
  }
}
