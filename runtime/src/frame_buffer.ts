/**
 * Decoded pictures without a transfer: the renderer writes them straight into an array of ours.
 *
 * It finds the array by a mark, random bytes at its head that are named in the request. An answer
 * 204 says that the picture is in the array; 200 brings it in the body, as does any renderer that
 * cannot reach our memory.
 */

const MARK_BYTES = 64;
/** Smaller pictures are not worth looking for: memory that small has no region of its own. */
const MIN_BYTES = 256 * 1024;

export class FrameBuffer {
  readonly bytes: Uint8ClampedArray<ArrayBuffer>;
  /** In hex; null when the picture is to come in the body. */
  readonly mark: string | null;

  constructor(sizeBytes: number) {
    this.bytes = new Uint8ClampedArray(sizeBytes);
    this.mark = sizeBytes < MIN_BYTES ? null : this.leaveMark();
  }

  private leaveMark(): string {
    // In the array itself: whoever looks for the mark must not find a copy of it first.
    const mark = crypto.getRandomValues(this.bytes.subarray(0, MARK_BYTES));
    return Array.from(mark, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}
