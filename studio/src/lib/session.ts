/** Who is logged in. */

import { effect, signal } from "@preact/signals";
import { client } from "./api.ts";
import type { ResultOf } from "./api.ts";

export type Session = ResultOf<"get", "/session">;

/** `undefined` until the service has answered, `null` if nobody is logged in. */
export const session = signal<Session | null | undefined>(undefined);

/** Set while a session may exist: without it there is nothing to ask for. */
const FLAG = "framekiln.session";

effect(() => {
  if (session.value) localStorage.setItem(FLAG, "1");
  else if (session.value === null) localStorage.removeItem(FLAG);
});

export async function findSession(): Promise<void> {
  if (localStorage.getItem(FLAG) === null) {
    session.value = null;
    return;
  }
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
