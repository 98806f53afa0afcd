/** WebVTT and SubRip, read as far as plain captions need it: times and text. Pure. */

import type { Cue } from "./model.ts";

const TIMES = /^\s*([\d:.,]+)\s+-->\s+([\d:.,]+)/u;
const CLOCK = /^(?:(\d+):)?(\d{1,2}):(\d{2})[.,](\d{1,3})$/u;

/** The cues in order, or null when the text is in neither format. */
export function parseSubtitles(text: string): Cue[] | null {
  const blocks = text.replace(/\r\n?/gu, "\n").split(/\n[ \t]*\n+/u);
  const cues = blocks.flatMap(parseBlock);
  if (cues.length === 0 && !text.startsWith("WEBVTT")) return null;
  return cues.sort((a, b) => a.startMs - b.startMs);
}

function parseBlock(block: string): Cue[] {
  const lines = block.split("\n");
  const at = lines.findIndex((line) => TIMES.test(line));
  const [, start, end] = TIMES.exec(lines[at] ?? "") ?? [];
  const startMs = parseClock(start ?? "");
  const endMs = parseClock(end ?? "");
  if (startMs === null || endMs === null) return [];
  return [{ startMs, endMs, text: plainText(lines.slice(at + 1).join("\n")) }];
}

function parseClock(text: string): number | null {
  const [, hours, minutes, seconds, fraction] = CLOCK.exec(text) ?? [];
  if (minutes === undefined || seconds === undefined || fraction === undefined) return null;
  const whole = Number(hours ?? 0) * 3600 + Number(minutes) * 60 + Number(seconds);
  return whole * 1000 + Number(fraction.padEnd(3, "0"));
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&nbsp;": "\u00A0",
  "&amp;": "&",
};

function plainText(text: string): string {
  const untagged = text.replace(/<[^>]*>|\{\\[^}]*\}/gu, "");
  return untagged.replace(/&(?:lt|gt|nbsp|amp);/gu, (entity) => ENTITIES[entity] ?? entity).trim();
}
