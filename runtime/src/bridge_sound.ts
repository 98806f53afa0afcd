/** The sound of a page that mixes it itself: interleaved float32 stereo at 48 kHz, as bytes. */

/** As many arguments as a call surely takes. */
const PIECE_BYTES = 0x2000;

const decodeText = atob;
const encodeText = btoa;

export class BridgeSound {
  private bytes: Uint8Array = new Uint8Array(0);

  get length(): number {
    return this.bytes.length;
  }

  /** Keep what the page delivers: a buffer, a view of one, or a data: URL. Nothing is silence. */
  keep(delivered: unknown): void {
    if (delivered instanceof ArrayBuffer) this.bytes = new Uint8Array(delivered);
    else if (ArrayBuffer.isView(delivered)) this.bytes = bytesOfView(delivered);
    else if (typeof delivered === "string" && delivered !== "") this.bytes = fromDataUrl(delivered);
  }

  /** Some of it as base64: the way out of a page is text. */
  piece(from: number, to: number): string {
    return base64Of(this.bytes.subarray(from, to));
  }
}

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE_BYTES));
  }
  return encodeText(text);
}

function bytesOfView(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

function fromDataUrl(url: string): Uint8Array {
  const comma = url.indexOf(",");
  const head = url.slice(0, comma);
  if (!head.startsWith("data:") || !head.endsWith(";base64")) {
    throw new Error(`the sound of the page is no base64 data: URL but ${url.slice(0, 40)}`);
  }
  const text = decodeText(url.slice(comma + 1));
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}
