/** Class names of Tailwind 3 that version 4 no longer knows, in words it knows. Pure. */

const OPACITY = /^(.*:)?(bg|text|border|divide|ring|placeholder|stroke|fill)-opacity-(.+)$/u;
const COLOUR =
  /^(?!opacity-)(?:black|white|current|[a-z]+-\d{2,3}|\[(?:#|rgb|hsl|color:)[^\]]*\])$/u;

/** What must be added: `bg-black bg-opacity-50` is `bg-black/50` now. */
export function withSlashOpacity(classes: readonly string[]): string[] {
  const present = new Set(classes);
  const added = classes.flatMap((name) => {
    const [, variants = "", property, amount] = OPACITY.exec(name) ?? [];
    if (property === undefined || amount === undefined) return [];
    const coloured = colours(classes, variants + property);
    // `hover:bg-opacity-50` changes the colour that is there anyway.
    const base = coloured.length > 0 ? coloured : colours(classes, property);
    return base.map((colour) => `${variants}${property}-${colour}/${amount}`);
  });
  return [...new Set(added)].filter((name) => !present.has(name));
}

function colours(classes: readonly string[], prefix: string): string[] {
  return classes
    .filter((name) => name.startsWith(`${prefix}-`))
    .map((name) => name.slice(prefix.length + 1))
    .filter((rest) => COLOUR.test(rest));
}
