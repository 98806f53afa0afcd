/** Who is logged in. */

import { batch, effect, signal } from "@preact/signals";
import { client, FramekilnError, isLoggedOut, problemOf } from "./api.ts";
import type { Problem, ResultOf } from "./api.ts";

export type Session = ResultOf<"get", "/session">;

/** `undefined` until the service has answered, `null` if nobody is logged in. */
export const session = signal<Session | null | undefined>(undefined);

/** What the review link of this browser allows, if nobody is logged in. */
export const reviewLink = signal<ResultOf<"get", "/session/review"> | null>(null);
/** The token of a review link that would end the session: the user decides. */
export const waitingLink = signal<string | null>(null);
/** Why a review link does not work. */
export const reviewLinkProblem = signal<Problem | null>(null);

/** Set while a session or a review link may exist: without it there is nothing to ask for. */
const FLAG = "framekiln.session";
const REVIEW_FLAG = "framekiln.review";
const REVIEWS = "/studio/reviews/";
/** The token stands behind `#`, so it reaches neither logs nor other pages. */
const TOKEN = /^#link=([\w-]+)$/;

effect(() => {
  if (session.value) localStorage.setItem(FLAG, "1");
  else if (session.value === null) localStorage.removeItem(FLAG);
});

export async function findSession(): Promise<void> {
  const token = location.pathname.startsWith(REVIEWS) ? TOKEN.exec(location.hash)?.[1] : undefined;
  if (token !== undefined) return openReviewLink(token);
  if (localStorage.getItem(FLAG) === null) {
    await findReviewLink();
    session.value = null;
    return;
  }
  await readSession();
}

async function readSession(): Promise<void> {
  try {
    session.value = await client.request("get", "/session");
  } catch {
    session.value = null;
  }
}

/** A link alone ends no session. Whoever is logged in to its organization needs none. */
export async function openReviewLink(token: string, replacesSession = false): Promise<void> {
  history.replaceState(null, "", location.pathname);
  const body = { token, replaces_session: replacesSession };
  try {
    const found = await client.request("post", "/login/review", { body });
    localStorage.setItem(REVIEW_FLAG, "1");
    // At once: with the old session and no question, the page would look for a task that is not its.
    batch(() => {
      reviewLink.value = found;
      waitingLink.value = null;
      session.value = null;
    });
  } catch (error) {
    if (error instanceof FramekilnError && error.code === "session_exists") {
      waitingLink.value = error.details["is_same_organization"] === true ? null : token;
      return readSession();
    }
    batch(() => {
      reviewLinkProblem.value = problemOf(error);
      waitingLink.value = null;
      session.value = null;
    });
  }
}

async function findReviewLink(): Promise<void> {
  if (localStorage.getItem(REVIEW_FLAG) === null) return;
  try {
    reviewLink.value = await client.request("get", "/session/review");
  } catch (error) {
    localStorage.removeItem(REVIEW_FLAG);
    reviewLinkProblem.value = isLoggedOut(error) ? null : problemOf(error);
  }
}

export async function logOut(): Promise<void> {
  await client.request("post", "/logout");
  reviewLink.value = null;
  session.value = null;
}
