/** Checks that a message to a webhook comes from the service, with WebCrypto. */

import { FramekilnError } from "./errors.ts";

const MAX_AGE_S = 300;

export interface WebhookEvent {
  topic: string;
  [field: string]: unknown;
}

/**
 * Returns the event in a message; throws unless it is signed with the secret and recent.
 * `body` is the text as it arrived: JSON that was parsed and written again may differ.
 */
export async function verifyWebhook(
  secret: string,
  headers: Headers | Record<string, string | undefined>,
  body: string | Uint8Array,
): Promise<WebhookEvent> {
  const given = headers instanceof Headers ? headers : new Headers(definedOnly(headers));
  const sentAt = given.get("webhook-timestamp") ?? "";
  if (!/^\d+$/.test(sentAt)) throw refusal("the message has no webhook-timestamp");
  if (Math.abs(Date.now() / 1000 - Number(sentAt)) > MAX_AGE_S) {
    throw refusal("the message was not sent within five minutes of now");
  }
  const encoder = new TextEncoder();
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const head = encoder.encode(`${given.get("webhook-id") ?? ""}.${sentAt}.`);
  const signed = new Uint8Array(head.length + bytes.length);
  signed.set(head);
  signed.set(bytes, head.length);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const secretBytes = fromBase64(secret.replace(/^whsec_/, ""));
  const key = await crypto.subtle.importKey("raw", secretBytes, algorithm, false, ["verify"]);
  for (const each of (given.get("webhook-signature") ?? "").split(" ")) {
    const [version, signature] = each.split(",");
    if (version !== "v1" || signature === undefined) continue;
    // `verify` compares in constant time.
    if (await crypto.subtle.verify("HMAC", key, fromBase64(signature), signed)) {
      return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
    }
  }
  throw refusal("the message is not signed with this secret");
}

function refusal(message: string): FramekilnError {
  return new FramekilnError(message, "wrong_signature");
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function definedOnly(headers: Record<string, string | undefined>): Record<string, string> {
  const entries = Object.entries(headers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Record<string, string>;
}
