/** The text of all style sheets of a page, if it says which elements can influence which. */

/**
 * Selectors and properties with which the inside of a hidden element can influence others: what it
 * contains, whether it is empty, which state it is in, and timelines that it names.
 */
const FROM_INSIDE = /:has\(|:has-slotted|:empty|:state\(|timeline/iu;

export interface DescribedStyles {
  /** All rules, in order. */
  readonly text: string;
  /** Why all of the page counts, or "". */
  readonly obstacle: string;
}

export function describedStyles(): DescribedStyles {
  const inline = [...document.querySelectorAll("[style]")].map(
    (each) => each.getAttribute("style") ?? "",
  );
  const sheets = [...document.styleSheets, ...document.adoptedStyleSheets].map(textOf);
  if (sheets.includes(null)) return { text: "", obstacle: "a style sheet cannot be read" };
  const text = sheets.join("\n");
  const found = [text, ...inline].map((each) => FROM_INSIDE.exec(each)?.[0]).find(Boolean);
  return { text, obstacle: found === undefined ? "" : `a style has ${found}` };
}

function textOf(sheet: CSSStyleSheet): string | null {
  try {
    const rules = [...sheet.cssRules].map((rule) => {
      if (!(rule instanceof CSSImportRule)) return rule.cssText;
      const inside = rule.styleSheet === null ? null : textOf(rule.styleSheet);
      return inside === null ? null : `${rule.cssText}{${inside}}`;
    });
    if (rules.includes(null)) return null;
    return `${sheet.media.mediaText} ${sheet.disabled}\n${rules.join("\n")}`;
  } catch {
    return null;
  }
}
