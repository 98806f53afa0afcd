/** ef-audio: sound only. It is never seen; the renderer mixes it from the plan. */

import { MediaElement } from "./media.ts";
import { sheetOf } from "./picture_box.ts";

export class AudioElement extends MediaElement {
  readonly mediaKind = "audio";

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheetOf(":host { display: none !important; }")];
  }
}
