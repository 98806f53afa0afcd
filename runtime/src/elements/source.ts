/** Where an element's media comes from, and what is wrong with an address that leads nowhere. */

import { hasFilesBeside, type MediaSource } from "../host.ts";

export interface WrittenSource {
  readonly src: string | null;
  readonly fileId: string | null;
}

export interface Reading {
  readonly source: MediaSource | null;
  /** What is wrong, without naming the element; "" when nothing is. */
  readonly problem: string;
}

const REACHABLE = ["https:", "http:", "data:", "blob:"];

/** A stored file wins over an address, as the address may be where it was once taken from. */
export function readSource(written: WrittenSource): Reading {
  if (written.fileId) return { source: { src: null, fileId: written.fileId }, problem: "" };
  if (!written.src) return { source: null, problem: "" };
  return readAddress(written.src.trim());
}

function readAddress(src: string): Reading {
  const shortened = src.length > 80 ? `${src.slice(0, 77)}...` : src;
  const own = parse(src, undefined);
  if (own === null) return readRelative(src, shortened);
  if (REACHABLE.includes(own.protocol)) return { source: { src, fileId: null }, problem: "" };
  return {
    source: null,
    problem: `src="${shortened}" cannot be reached: only https and data addresses can; upload the file and use file-id`,
  };
}

function readRelative(src: string, shortened: string): Reading {
  const isBased =
    document.baseURI !== document.URL && document.querySelector("base[href]") !== null;
  const whole = isBased || hasFilesBeside() ? parse(src, document.baseURI) : null;
  if (whole !== null) return { source: { src: whole.href, fileId: null }, problem: "" };
  return {
    source: null,
    problem: `src="${shortened}" is relative, and inline HTML has no files beside it: write an https address, or upload the file and use file-id`,
  };
}

function parse(url: string, base: string | undefined): URL | null {
  try {
    return new URL(url, base);
  } catch {
    return null;
  }
}
