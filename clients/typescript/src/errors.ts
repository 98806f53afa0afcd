/** Errors of the client. */

import { readEvents } from "./events.ts";

/** The service refused the request, or the awaited resource has failed. */
export class FramekilnError extends Error {
  override readonly name: string = "FramekilnError";
  /** For programs; see the list of codes in the documentation. */
  readonly code: string;
  /** The HTTP status, or null if the error is not that of a response. */
  readonly status: number | null;
  /** The whole response. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    message: string,
    code: string,
    status: number | null = null,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.code = code;
    this.status = status;
    this.details = details;
  }
}

/** The service does not respond, is unavailable, or a quota is used up: a retry may help. */
export class ServiceUnreachable extends FramekilnError {
  override readonly name = "ServiceUnreachable";
  /** In how many seconds to try again, if the service says so. */
  readonly retryAfterS: number | null;

  constructor(
    message: string,
    code = "service_unreachable",
    status: number | null = null,
    retryAfterS: number | null = null,
    details: Readonly<Record<string, unknown>> = {},
  ) {
    super(message, code, status, details);
    this.retryAfterS = retryAfterS;
  }
}

/** A progress stream has reported a failure. */
export class ProgressFailed extends FramekilnError {}

/** Returns the error in a response. */
export async function errorOf(response: Response): Promise<FramekilnError> {
  const raw = await errorBody(response);
  const code = String(raw["error"] ?? "service_refused");
  const remedy = raw["remedy"] === undefined ? "" : `. ${String(raw["remedy"])}`;
  const message = `${String(raw["message"] ?? response.statusText)} (${response.status})${remedy}`;
  if (response.status >= 500 || response.status === 429) {
    const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
    const retryAfterS = Number.isNaN(seconds) ? null : seconds;
    return new ServiceUnreachable(message, code, response.status, retryAfterS, raw);
  }
  return new FramekilnError(message, code, response.status, raw);
}

async function errorBody(response: Response): Promise<Record<string, unknown>> {
  try {
    if (response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      // Refused streams have the message as their only event.
      for await (const event of readEvents(response)) {
        if (event.name === "error") return { message: event.data };
      }
      return {};
    }
    const body: unknown = await response.json();
    return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  } catch {
    // Not JSON: the status has to do.
    return {};
  }
}
