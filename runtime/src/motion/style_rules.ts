/** The style rules of a page, those inside others as well. */

type Sheets = Pick<Document, "styleSheets" | "adoptedStyleSheets">;

/** All rules that can be read. */
export function* rulesOf(sheets: Sheets): Generator<CSSRule> {
  for (const sheet of [...sheets.styleSheets, ...sheets.adoptedStyleSheets]) {
    yield* insideOf(sheet) ?? [];
  }
}

/** Whether the rules of all style sheets can be read. */
export function areReadable(sheets: Sheets): boolean {
  return [...sheets.styleSheets, ...sheets.adoptedStyleSheets].every(
    (sheet) => insideOf(sheet) !== null,
  );
}

function insideOf(rules: CSSStyleSheet | CSSGroupingRule): CSSRule[] | null {
  try {
    return [...rules.cssRules].flatMap((rule) =>
      rule instanceof CSSGroupingRule ? [rule, ...(insideOf(rule) ?? [])] : [rule],
    );
  } catch {
    return null;
  }
}
