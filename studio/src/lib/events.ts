/** Server-sent events of the service, read by the browser, which reconnects by itself. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Whether an event stream of this tab has lost its connection. */
export const isDisconnected = signal(false);

export type Listeners = Record<string, (data: string) => void>;

/** Follows a stream while the component is shown; `null` follows nothing. */
export function useEvents(address: string | null, listeners: Listeners): void {
  useEffect(() => {
    if (address === null) return;
    const source = new EventSource(address);
    source.onopen = () => {
      isDisconnected.value = false;
    };
    source.onerror = () => {
      // After its last event a stream ends; the listener has closed it then.
      if (source.readyState === EventSource.CONNECTING) isDisconnected.value = true;
    };
    for (const [name, listen] of Object.entries(listeners)) {
      source.addEventListener(name, (event) => {
        // An `error` of the connection has no data.
        if (event instanceof MessageEvent) listen(String(event.data));
        if (name === "complete" || (name === "error" && event instanceof MessageEvent)) {
          source.close();
        }
      });
    }
    return () => source.close();
  }, [address]);
}
