/** Sound that was rendered and not yet fetched by the renderer: two channels in turn, float32. */

import { base64Of } from "../bridge_sound.ts";

/** What the renderer gets; `capture/web_audio.py` reads it. */
export interface SoundPiece {
  /** Which context it is of, counted from 0. */
  readonly context: number;
  readonly rateHz: number;
  /** The sample of the film that comes first. */
  readonly place: number;
  readonly samples: string;
}

interface Held {
  readonly context: number;
  readonly rateHz: number;
  readonly place: number;
  readonly samples: Float32Array;
}

export class SoundPieces {
  private held: Held[] = [];
  private heldBytes = 0;

  get bytes(): number {
    return this.heldBytes;
  }

  add(piece: Held): void {
    this.held.push(piece);
    this.heldBytes += piece.samples.byteLength;
  }

  /** Hand everything over; silence is left out. */
  take(): SoundPiece[] {
    const taken = this.held.map((piece) => ({ ...piece, samples: textOf(piece.samples) }));
    this.held = [];
    this.heldBytes = 0;
    return taken;
  }
}

function textOf(samples: Float32Array): string {
  return base64Of(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
}
