/** Elements of players and editors: in a film, wrappers leave no box and controls are not seen. */

import { sheetOf } from "./picture_box.ts";

export const WRAPPERS: readonly string[] = [
  "ef-preview",
  "ef-workbench",
  "ef-fit-scale",
  "ef-canvas",
  "ef-canvas-item",
  "ef-resizable-box",
  "ef-player",
];

export const CONTROLS: readonly string[] = [
  "ef-controls",
  "ef-toggle-play",
  "ef-toggle-loop",
  "ef-play",
  "ef-pause",
  "ef-scrubber",
  "ef-time-display",
  "ef-timeline",
  "ef-timeline-ruler",
  "ef-filmstrip",
  "ef-thumbnail-strip",
  "ef-trim-handles",
  "ef-transform-handles",
  "ef-focus-overlay",
  "ef-overlay-layer",
  "ef-overlay-item",
  "ef-hierarchy",
  "ef-tree",
  "ef-tree-item",
  "ef-dial",
];

/** A class of its own for each name: one class can stand for one element only. */
export function wrapperClass(): CustomElementConstructor {
  return inertClass(":host { display: contents !important; }");
}

export function controlClass(): CustomElementConstructor {
  return inertClass(":host { display: none !important; }");
}

function inertClass(css: string): CustomElementConstructor {
  return class extends HTMLElement {
    constructor() {
      super();
      const root = this.attachShadow({ mode: "open" });
      root.adoptedStyleSheets = [sheetOf(css)];
      root.append(document.createElement("slot"));
    }
  };
}
