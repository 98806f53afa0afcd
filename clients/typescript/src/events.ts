/** Progress streams: server-sent events read with `fetch`, which can send a key. */

import type { Connection } from "./connection.ts";
import { Retry } from "./connection.ts";
import { ProgressFailed, ServiceUnreachable } from "./errors.ts";

export type OnFraction = (fraction: number) => void;

export interface ServerEvent {
  name: string;
  data: string;
}

/** Yields the events of a response. */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let event: ServerEvent = { name: "", data: "" };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [, field, text] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
        if (line === "") {
          yield event;
          event = { name: "", data: "" };
        } else if (field === "event") event.name = text ?? "";
        else if (field === "data") event.data += text ?? "";
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

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
