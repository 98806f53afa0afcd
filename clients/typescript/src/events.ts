/** Server-sent events, read with `fetch`, which can send a key. */

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
