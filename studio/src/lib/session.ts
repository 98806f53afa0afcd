/** Who is logged in. */

import { signal } from "@preact/signals";
import { client } from "./api.ts";
import type { ResultOf } from "./api.ts";

export type Session = ResultOf<"get", "/session">;

/** `undefined` until the service has answered, `null` if nobody is logged in. */
export const session = signal<Session | null | undefined>(undefined);

export async function findSession(): Promise<void> {
  try {
    session.value = await client.request("get", "/session");
  } catch {
    session.value = null;
  }
}

export async function logOut(): Promise<void> {
  await client.request("post", "/logout");
  session.value = null;
}
