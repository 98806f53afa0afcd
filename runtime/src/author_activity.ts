/** Notices whether the author's scripts ask to be called later: then frames hang on those before. */

export class AuthorActivity {
  private isScripted = false;

  /** Called after the page's clock is in place and before the page's own scripts. */
  install(): void {
    for (const name of ["requestAnimationFrame", "setTimeout", "setInterval"] as const) {
      const inner = window[name] as (...args: unknown[]) => number;
      const tracked = (...args: unknown[]): number => {
        this.isScripted = true;
        return inner(...args);
      };
      (window as unknown as Record<string, unknown>)[name] = tracked;
    }
  }

  get hasAny(): boolean {
    return this.isScripted;
  }
}
