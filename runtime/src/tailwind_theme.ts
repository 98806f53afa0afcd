/** The theme in a Tailwind 3 configuration object, as the CSS that version 4 reads. Pure. */

type Values = Readonly<Record<string, unknown>>;

/** Which variables a section of the theme becomes. */
const VARIABLES: Readonly<Record<string, string>> = {
  animation: "animate",
  backgroundImage: "background-image",
  blur: "blur",
  borderRadius: "radius",
  boxShadow: "shadow",
  colors: "color",
  dropShadow: "drop-shadow",
  fontFamily: "font",
  fontSize: "text",
  fontWeight: "font-weight",
  letterSpacing: "tracking",
  lineHeight: "leading",
  maxWidth: "container",
  screens: "breakpoint",
  spacing: "spacing",
  transitionTimingFunction: "ease",
};

/** What a configuration adds to the theme; plug-ins and functions in it are left out. */
export function themeCss(config: unknown): string {
  const theme = recordIn(recordIn(config).theme);
  const extended = recordIn(theme.extend);
  const lines = Object.entries(VARIABLES).flatMap(([section, variable]) => [
    ...declarations(`--${variable}`, recordIn(theme[section])),
    ...declarations(`--${variable}`, recordIn(extended[section])),
  ]);
  const frames = { ...recordIn(theme.keyframes), ...recordIn(extended.keyframes) };
  const keyframes = Object.entries(frames).map(([name, steps]) => keyframesCss(name, steps));
  const all = [...lines, ...keyframes];
  return all.length === 0 ? "" : `@theme {\n${all.join("\n")}\n}`;
}

function declarations(prefix: string, values: Values): string[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const name = key === "DEFAULT" ? prefix : `${prefix}-${key.replaceAll(".", "\\.")}`;
    if (typeof value === "string" || typeof value === "number") return [`${name}: ${value};`];
    if (Array.isArray(value)) return listed(prefix, name, value);
    return declarations(name, recordIn(value));
  });
}

/** Lists are font families, layers of shadows, or a size of text with its height of line. */
function listed(prefix: string, name: string, list: readonly unknown[]): string[] {
  if (prefix !== "--text") return [`${name}: ${list.join(", ")};`];
  const [size, more] = list;
  const height = typeof more === "string" ? more : recordIn(more).lineHeight;
  const lines = [`${name}: ${size};`];
  return height === undefined ? lines : [...lines, `${name}--line-height: ${height};`];
}

function keyframesCss(name: string, steps: unknown): string {
  const rules = Object.entries(recordIn(steps)).map(([at, properties]) => {
    const pairs = Object.entries(recordIn(properties));
    return `${at} { ${pairs.map(([key, value]) => `${kebab(key)}: ${value};`).join(" ")} }`;
  });
  return `@keyframes ${name} { ${rules.join(" ")} }`;
}

function kebab(property: string): string {
  if (property.startsWith("--")) return property;
  return property.replace(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
}

function recordIn(value: unknown): Values {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Values)
    : {};
}
