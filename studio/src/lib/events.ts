/** Server-sent events of the service; a stream that breaks is opened again. */

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

/** Whether an event stream of this tab has lost its connection. */
export const isDisconnected = signal(false);

export type Listeners = Record<string, (data: string) => void>;

/** After a refusal browsers do not try again: the service restarts, or has too many streams. */
const REOPEN_AFTER_MS = 3_000;

/** Follows a stream while the component is shown; `null` follows nothing. */
export function useEvents(address: string | null, listeners: Listeners): void {
  useEffect(() => {
    if (address === null) return;
    let source: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let hasEnded = false;
    const close = (): void => {
      clearTimeout(timer);
      source?.close();
    };
    const open = (): void => {
      source = new EventSource(address);
      source.onopen = () => {
        isDisconnected.value = false;
      };
      source.onerror = (event) => {
        // The service's own `error` event has data; that of the connection has none.
        if (event instanceof MessageEvent) return;
        isDisconnected.value = true;
        if (source?.readyState === EventSource.CLOSED) timer = setTimeout(open, REOPEN_AFTER_MS);
      };
      for (const [name, listen] of Object.entries(listeners)) {
        source.addEventListener(name, (event) => {
          if (!(event instanceof MessageEvent)) return;
          // Nothing follows these two.
          if (name === "complete" || name === "error") {
            hasEnded = true;
            close();
          }
          listen(String(event.data));
        });
      }
    };
    // A hidden tab gives its connection back: browsers open only six to a host.
    const onVisibility = (): void => {
      close();
      source = null;
      if (document.hidden) return;
      if (!hasEnded) open();
    };
    document.addEventListener("visibilitychange", onVisibility);
    if (!document.hidden) open();
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      close();
    };
  }, [address]);
}

/** The fraction of something that is being made; `onEnd` is called when it is done or has failed. */
export function useProgress(address: string | null, onEnd: () => void): number {
  const [fraction, setFraction] = useState(0);
  useEvents(address, {
    progress: (data) => setFraction(Number(JSON.parse(data).progress ?? 0)),
    complete: onEnd,
    error: onEnd,
  });
  return fraction;
}
