/**
 * The box of an element that shows a picture: as large as its CSS says, else as the picture.
 *
 * The styles are set from inside (`:host`), where any rule of the author overrides them.
 */

const STYLES = `
:host { display: block; position: relative; object-fit: contain; width: max-content; }
:host(:state(positioned)) { width: auto; }
.natural, .picture { display: block; width: 100%; height: 100%; }
.picture { object-fit: inherit; object-position: inherit; image-rendering: inherit; }
.natural { visibility: hidden; }
.natural + .picture { position: absolute; inset: 0; }
`;

let styles: CSSStyleSheet | null = null;

export class PictureBox<P extends HTMLElement> {
  readonly picture: P;
  private readonly host: HTMLElement;
  private readonly internals: ElementInternals;
  /** Never drawn on: it only gives the box its natural size. */
  private readonly natural: HTMLCanvasElement | null = null;

  constructor(host: HTMLElement, picture: P) {
    this.host = host;
    this.picture = picture;
    this.internals = host.attachInternals();
    picture.classList.add("picture");
    const root = host.attachShadow({ mode: "open" });
    styles ??= sheetOf(STYLES);
    root.adoptedStyleSheets = [styles];
    if (picture instanceof HTMLCanvasElement) {
      this.natural = document.createElement("canvas");
      this.natural.className = "natural";
      this.setNaturalSize(0, 0);
      root.append(this.natural);
    }
    root.append(picture);
  }

  setNaturalSize(widthPx: number, heightPx: number): void {
    if (this.natural === null) return;
    if (this.natural.width !== widthPx) this.natural.width = widthPx;
    if (this.natural.height !== heightPx) this.natural.height = heightPx;
  }

  /** An absolute box is stretched by its insets; one in the flow is not stretched by its parent. */
  followPosition(): void {
    const { position } = getComputedStyle(this.host);
    if (position === "absolute" || position === "fixed") this.internals.states.add("positioned");
    else this.internals.states.delete("positioned");
  }
}

export function sheetOf(css: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  return sheet;
}
