/** The sound of one version, played by Web Audio, whose clock leads the pictures. */

const RATE_HZ = 48_000;

/** A clock in seconds, which begins at 0 when playback does. */
export interface PlayClock {
  seconds(): number;
  stop(): void;
}

/** Without sound, the time of the page is good enough. */
export function silentClock(): PlayClock {
  const begun = performance.now();
  return { seconds: () => (performance.now() - begun) / 1000, stop: () => undefined };
}

export class Sound {
  private context: AudioContext | null = null;
  private gain: GainNode | null = null;
  private buffer: AudioBuffer | null = null;
  private version = "";

  /** Loads the sound of a version; resolves to whether it can be heard. */
  async load(version: string): Promise<boolean> {
    if (this.version === version) return this.buffer !== null;
    this.version = version;
    this.buffer = null;
    const response = await fetch(`/sound/${version}`);
    if (!response.ok || this.version !== version) return false;
    const bytes = await response.arrayBuffer();
    const buffer = await this.opened().decodeAudioData(bytes);
    if (this.version !== version) return false;
    this.buffer = buffer;
    return true;
  }

  get isLoaded(): boolean {
    return this.buffer !== null;
  }

  /** To be called in a user's gesture: browsers allow sound only then. */
  async unlock(): Promise<void> {
    const context = this.opened();
    // A browser that refuses never answers.
    const refusal = new Promise((resolve) => setTimeout(resolve, 200));
    if (context.state !== "running") await Promise.race([context.resume(), refusal]);
  }

  setMuted(isMuted: boolean): void {
    this.opened();
    if (this.gain !== null) this.gain.gain.value = isMuted ? 0 : 1;
  }

  /** Plays a part of the film and returns the clock, or null if nothing can be heard. */
  play(fromSeconds: number, toSeconds: number, speed: number): PlayClock | null {
    const { context, buffer, gain } = this;
    if (context === null || buffer === null || gain === null) return null;
    if (context.state !== "running") return null;
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.playbackRate.value = speed;
    source.connect(gain);
    const begun = context.currentTime;
    // Whoever waits for the clock to reach the end stops too late: what has left is still heard.
    source.start(begun, fromSeconds, Math.max(0, toSeconds - fromSeconds));
    return {
      // What is heard now left the context earlier.
      seconds: () => Math.max(0, context.currentTime - begun - (context.outputLatency || 0)),
      stop: () => {
        source.stop();
        source.disconnect();
      },
    };
  }

  private opened(): AudioContext {
    if (this.context === null) {
      this.context = new AudioContext({ sampleRate: RATE_HZ });
      this.gain = this.context.createGain();
      this.gain.connect(this.context.destination);
    }
    return this.context;
  }
}
