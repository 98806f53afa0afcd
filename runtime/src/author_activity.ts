/** Notices whether the author's scripts ask to be called later: then frames hang on those before. */

type Scrolling = { readonly behavior?: unknown } | null | undefined;
type Method = (this: unknown, ...args: unknown[]) => unknown;

export class AuthorActivity {
  private isScripted = false;

  /** Called after the page's clock is in place and before the page's own scripts. */
  install(): void {
    const later = ["requestAnimationFrame", "setTimeout", "setInterval", "requestIdleCallback"];
    this.watch(window, later);
    this.watch(Document.prototype, ["startViewTransition"]);
    this.watchScrolling();
    this.watch((window as { Scheduler?: { prototype: object } }).Scheduler?.prototype, [
      "postTask",
    ]);
  }

  get hasAny(): boolean {
    return this.isScripted;
  }

  /** Smooth scrolling begins with the frame after. */
  private watchScrolling(): void {
    const isSmooth = ([first, second]: readonly unknown[]): boolean => {
      return [first, second].some((each) => (each as Scrolling)?.behavior === "smooth");
    };
    this.watch(window, ["scroll", "scrollTo", "scrollBy"], isSmooth);
    const names = ["scroll", "scrollTo", "scrollBy", "scrollIntoView"];
    this.watch(Element.prototype, names, isSmooth);
  }

  private watch(
    owner: object | undefined,
    names: readonly string[],
    counts: (args: readonly unknown[]) => boolean = () => true,
  ): void {
    const notice = (args: readonly unknown[]): void => {
      this.isScripted ||= counts(args);
    };
    const methods = owner as Record<string, Method | undefined> | undefined;
    for (const name of names) {
      const inner = methods?.[name];
      if (methods === undefined || inner === undefined) continue;
      methods[name] = function tracked(this: unknown, ...args: unknown[]): unknown {
        notice(args);
        return inner.apply(this, args);
      };
    }
  }
}
