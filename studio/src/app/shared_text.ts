/** Texts in links, and the lines of values in JSON. */

const PREFIX = "#text=";

/** The text as the part of a link behind `#`, which is not sent to the service. */
export function encodeShared(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `text=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

export function decodeShared(hash: string): string | null {
  if (!hash.startsWith(PREFIX)) return null;
  try {
    const letters = atob(hash.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder("utf-8", { fatal: true }).decode(
      Uint8Array.from(letters, (letter) => letter.charCodeAt(0)),
    );
  } catch {
    return null;
  }
}

/**
 * The line (from 1) of the value at a dotted path such as `layers.0.text`, or of the nearest value
 * around it; null if nothing of the path is there.
 */
export function lineOfPath(json: string, path: string): number | null {
  const wanted = path.split(".");
  /** The objects and lists around the present place: in each, its key or index. */
  const around: { isList: boolean; key: string }[] = [];
  let best = 0;
  let bestLine: number | null = null;
  let line = 1;
  const noteValue = (): void => {
    const depth = around.length;
    const isOnPath = depth <= wanted.length && around.every(({ key }, at) => key === wanted[at]);
    if (isOnPath && depth > best) {
      best = depth;
      bestLine = line;
    }
  };
  for (let at = 0; at < json.length; at++) {
    const letter = json[at] as string;
    const inner = around.at(-1);
    if (letter === "\n") line += 1;
    else if (letter === '"') {
      const end = endOfString(json, at);
      const isKey = inner?.isList === false && /^\s*:/.test(json.slice(end + 1, end + 20));
      if (isKey) inner.key = JSON.parse(json.slice(at, end + 1)) as string;
      else noteValue();
      at = end;
    } else if (letter === "{" || letter === "[") {
      noteValue();
      around.push({ isList: letter === "[", key: letter === "[" ? "0" : "" });
    } else if (letter === "}" || letter === "]") around.pop();
    else if (letter === "," && inner?.isList) inner.key = String(Number(inner.key) + 1);
    else if (/[-\dtfn]/.test(letter)) noteValue();
  }
  return bestLine;
}

/** A short name for a text. */
export function shortHash(text: string): string {
  let hash = 0;
  for (let at = 0; at < text.length; at++) hash = (31 * hash + text.charCodeAt(at)) | 0;
  return (hash >>> 0).toString(36);
}

/** A mark in the editor for each issue; those without a place are at the first line. */
export function markIssues(
  issues: readonly { path: string; message: string }[],
  json: string,
): { line: number; message: string; severity: "error" }[] {
  return issues.map(({ path, message }) => ({
    line: lineOfPath(json, path) ?? 1,
    message: `${path}: ${message}`,
    severity: "error",
  }));
}

function endOfString(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    if (json[at] === "\\") at += 1;
    else if (json[at] === '"') return at;
  }
  return json.length - 1;
}
