/** What the page still waits for before its first frame, in words a person can act on. */

import { imagesOfPage } from "./shadow_roots.ts";

type MaybePromise = { then?: unknown } | null | undefined;

/** Others who may hold the first frame back. */
export interface Waiting {
  pending(): string[];
  failure(): string;
}

export class Readiness {
  private readonly others: readonly Waiting[];
  private hook: "unseen" | "waiting" | "done" | "failed" = "unseen";
  private hookError = "";

  constructor(others: readonly Waiting[] = []) {
    this.others = others;
  }

  /** Names of everything that is not ready; empty means frame 0 may be taken. */
  pending(): string[] {
    // Fonts are asked for by layout, and nothing has been drawn yet.
    void document.documentElement?.offsetHeight;
    return [
      ...pendingDocument(),
      ...pendingFonts(),
      ...pendingImages(),
      ...this.others.flatMap((other) => other.pending()),
      ...this.pendingHook(),
    ];
  }

  /** Why the page can never be ready, or "". */
  failure(): string {
    const failures = [this.hookError, ...this.others.map((other) => other.failure())];
    return failures.find((failure) => failure !== "") ?? "";
  }

  private pendingHook(): string[] {
    const hook = (window as unknown as { renderReady?: MaybePromise }).renderReady;
    if (this.hook === "unseen" && hook && typeof hook.then === "function") {
      this.hook = "waiting";
      Promise.resolve(hook).then(
        () => {
          this.hook = "done";
        },
        (reason: unknown) => {
          this.hook = "failed";
          this.hookError = `window.renderReady was rejected: ${String(reason)}`;
        },
      );
    }
    return this.hook === "waiting" ? ["window.renderReady"] : [];
  }
}

function pendingDocument(): string[] {
  return document.readyState === "complete" ? [] : [`document (${document.readyState})`];
}

function pendingFonts(): string[] {
  if (document.fonts.status === "loaded") return [];
  const loading = [...document.fonts].filter((face) => face.status === "loading");
  return loading.map((face) => `font ${face.family}`);
}

function pendingImages(): string[] {
  return imagesOfPage()
    .filter((image) => !image.complete && image.loading !== "lazy")
    .map((image) => `image ${shorten(image.currentSrc || image.src)}`);
}

function shorten(url: string): string {
  return url.length > 120 ? `${url.slice(0, 117)}...` : url;
}
