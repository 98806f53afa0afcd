/** What is shown of a step's output. Pure. */

import { duration } from "../lib/format.ts";

/** The film that an output names, as a path of this service; nothing of other hosts is played. */
export function mediaOf(metadata: Record<string, unknown>): string | null {
  for (const name of ["hls_url", "output_url"]) {
    const value = metadata[name];
    if (typeof value !== "string") continue;
    try {
      const { pathname, search } = new URL(value, "http://host.invalid");
      if (pathname.startsWith("/api/v1/")) return pathname + search;
    } catch {
      // Not an address.
    }
  }
  return null;
}

export function annotationRow(annotation: Record<string, unknown>): string[] {
  const { kind, start_ms, end_ms, label, text, confidence, keyframes } = annotation;
  const boxes = Array.isArray(keyframes) ? `${keyframes.length} keyframes` : "";
  return [
    duration(Number(start_ms ?? 0)),
    duration(Number(end_ms ?? 0)),
    String(kind ?? ""),
    [label, text, boxes].filter(Boolean).map(String).join(", ") || "—",
    typeof confidence === "number" ? confidence.toFixed(2) : "—",
  ];
}
