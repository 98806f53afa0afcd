/** ef-configuration: settings of other players. Here it is only a wrapper without a box. */

import { sheetOf } from "./picture_box.ts";

export class ConfigurationElement extends HTMLElement {
  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheetOf(":host { display: contents; }")];
    root.append(document.createElement("slot"));
  }
}
