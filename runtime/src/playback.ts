/** Who moves time: the renderer, which nobody else may, or a player in a tab. */

export interface Playback {
  readonly isPlaying: boolean;
  play(): void;
  pause(): void;
  seek(ms: number): void;
}

const NO_PLAYBACK: Playback = {
  isPlaying: false,
  play: () => undefined,
  pause: () => undefined,
  seek: () => undefined,
};

let current: Playback = NO_PLAYBACK;

/** The player of this tab; in a render, one that does nothing. */
export function playback(): Playback {
  return current;
}

export function usePlayback(given: Playback): void {
  current = given;
}
