/** Server-sent events of the service; a stream that breaks is opened again. */

import { computed, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";

const lost = signal<ReadonlySet<object>>(new Set());

/** Whether an event stream that this tab follows has lost its connection. */
export const isDisconnected = computed(() => lost.value.size > 0);

function setLost(stream: object, isLost: boolean): void {
  if (lost.value.has(stream) === isLost) return;
  const others = [...lost.value].filter((each) => each !== stream);
  lost.value = new Set(isLost ? [...others, stream] : others);
}

export type Listeners = Record<string, (data: string) => void>;

/** After a refusal browsers do not try again: the service restarts, or has too many streams. */
const REOPEN_AFTER_MS = 3_000;

/**
 * Follows a stream while the component is shown; `null` follows nothing.
 *
 * `onRefused` is called when the service refuses it: browsers do not say why.
 */
export function useEvents(
  address: string | null,
  listeners: Listeners,
  onRefused?: () => void,
): void {
  useEffect(() => {
    if (address === null) return;
    const stream = {};
    let source: EventSource | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let hasEnded = false;
    const close = (): void => {
      clearTimeout(timer);
      source?.close();
      setLost(stream, false);
    };
    const open = (): void => {
      source = new EventSource(address);
      source.onopen = () => setLost(stream, false);
      source.onerror = (event) => {
        // The service's own `error` event has data; that of the connection has none.
        if (event instanceof MessageEvent) return;
        setLost(stream, true);
        if (source?.readyState !== EventSource.CLOSED) return;
        timer = setTimeout(open, REOPEN_AFTER_MS);
        onRefused?.();
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
  const progress = (data: string): void => setFraction(Number(JSON.parse(data).progress ?? 0));
  // What was deleted has no stream.
  useEvents(address, { progress, complete: onEnd, error: onEnd }, onEnd);
  return fraction;
}
