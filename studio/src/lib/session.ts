/** Who is logged in. */

import { batch, effect, signal } from "@preact/signals";
import { client, FramekilnError, isLoggedOut, problemOf, ServiceUnreachable } from "./api.ts";
import type { Problem, ResultOf } from "./api.ts";

export type Session = ResultOf<"get", "/session">;

/** `undefined` until the service has answered, `null` if nobody is logged in. */
export const session = signal<Session | null | undefined>(undefined);

/** Why nobody knows who is logged in. */
export const sessionProblem = signal<Problem | null>(null);

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
  if (localStorage.getItem(FLAG) !== null) return readSession();
  await known(async () => {
    await findReviewLink();
    session.value = null;
  });
}

/** Asks again who is logged in: the session may have ended. */
export async function readSession(): Promise<void> {
  await known(async () => {
    session.value = await client.request("get", "/session");
  });
}

/** A service that fails or does not answer logs nobody out. */
async function known(ask: () => Promise<void>): Promise<void> {
  sessionProblem.value = null;
  try {
    await ask();
  } catch (error) {
    if (isLoggedOut(error)) session.value = null;
    else sessionProblem.value = problemOf(error);
  }
}

/** A link alone ends no session. Whoever is logged in to its organization needs none. */
export async function openReviewLink(token: string, replacesSession = false): Promise<void> {
  const body = { token, replaces_session: replacesSession };
  sessionProblem.value = null;
  try {
    const found = await client.request("post", "/login/review", { body });
    history.replaceState(null, "", location.pathname);
    localStorage.setItem(REVIEW_FLAG, "1");
    // At once: with the old session and no question, the page would look for a task that is not its.
    batch(() => {
      reviewLink.value = found;
      waitingLink.value = null;
      session.value = null;
    });
  } catch (error) {
    if (error instanceof ServiceUnreachable) {
      // The address keeps the token for the next attempt.
      sessionProblem.value = problemOf(error);
      return;
    }
    history.replaceState(null, "", location.pathname);
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
    if (error instanceof ServiceUnreachable) throw error;
    localStorage.removeItem(REVIEW_FLAG);
    reviewLinkProblem.value = isLoggedOut(error) ? null : problemOf(error);
  }
}

export async function logOut(): Promise<void> {
  await client.request("post", "/logout");
  reviewLink.value = null;
  session.value = null;
}
