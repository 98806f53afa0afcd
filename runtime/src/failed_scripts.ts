/** Scripts of the page that were not run, because they or what they import could not be loaded. */

export interface FailedScript {
  /** The whole address; "" for a script that stands in the page. */
  readonly url: string;
  readonly isModule: boolean;
}

const MAX_WARNINGS = 20;
const MAX_ELEMENTS = 2000;
/** These may draw something, whatever their style. */
const DRAWING = "img, picture, svg, canvas, video, iframe, object, embed, input, button, hr, meter";

export class FailedScripts {
  private readonly failed: FailedScript[] = [];

  /** Called before anything of the page is parsed. */
  install(): void {
    // The event does not bubble, but passes here on its way down.
    window.addEventListener(
      "error",
      ({ target }) => {
        if (!(target instanceof HTMLScriptElement) || this.failed.length >= MAX_WARNINGS) return;
        this.failed.push({ url: target.src, isModule: target.type === "module" });
      },
      true,
    );
  }

  all(): readonly FailedScript[] {
    return this.failed;
  }

  /** Whether scripts failed, and the page draws nothing without them. */
  isBlank(): boolean {
    if (this.failed.length === 0) return false;
    const { body } = document;
    if (body === null) return true;
    if (body.innerText.trim() !== "" || document.getAnimations().length > 0) return false;
    if (body.querySelector(DRAWING) !== null) return false;
    const elements = [...body.querySelectorAll("*")].slice(0, MAX_ELEMENTS);
    if (elements.some((element) => element.localName.startsWith("ef-"))) return false;
    return ![document.documentElement, body, ...elements].some(isPainted);
  }
}

function isPainted(element: Element): boolean {
  return [null, "::before", "::after"].some((part) => {
    const style = getComputedStyle(element, part);
    if (part !== null && (style.content === "none" || style.content === "normal")) return false;
    return (
      part !== null ||
      style.backgroundImage !== "none" ||
      !isTransparent(style.backgroundColor) ||
      style.boxShadow !== "none" ||
      (style.borderStyle !== "none" && Number.parseFloat(style.borderWidth) > 0)
    );
  });
}

function isTransparent(color: string): boolean {
  return color === "transparent" || /,\s*0\)$|\/\s*0\)$/u.test(color);
}
