/** From samples to what a waveform draws: levels by frequency, or the wave itself. Pure. */

import { magnitudes } from "./fft.ts";

export const RATE_HZ = 48_000;
/** One frame at 30 fps, whatever the rate of the film: the look must not depend on it. */
export const FRAME_SAMPLES = 1600;

export interface Analysis {
  /** Samples in one transform: a power of two. */
  readonly fftSize: number;
  /** How many frames the levels are averaged over. */
  readonly decayFrames: number;
  readonly gain: number;
}

const LOWEST_DB = -90;
const HIGHEST_DB = -10;
const FADE = 0.8;
// Music has most of its power in the low bands; without this, bars would only stand on the left.
const LOW_BAND_FACTOR = 0.3;
const HIGH_BAND_FACTOR = 2;

/** How many samples, ending at the instant, an analysis looks at. */
export function samplesNeeded({ fftSize, decayFrames }: Analysis): number {
  return (decayFrames - 1) * FRAME_SAMPLES + Math.max(FRAME_SAMPLES, fftSize);
}

/** Levels 0..1 of the lower half of the bins, low frequencies first. */
export function frequencyLevels(samples: Float32Array, analysis: Analysis): Float64Array {
  const { fftSize, decayFrames, gain } = analysis;
  const total = new Float64Array(fftSize / 4);
  let weights = 0;
  for (let age = 0; age < decayFrames; age += 1) {
    const end = samples.length - age * FRAME_SAMPLES;
    const weight = FADE ** age;
    const levels = levelsOf(samples.subarray(Math.max(0, end - fftSize), end), fftSize, gain);
    levels.slice(0, total.length).forEach((level, bin) => {
      total[bin] = (total[bin] ?? 0) + level * weight;
    });
    weights += weight;
  }
  return total.map((sum, bin) => Math.min(1, (sum / weights) * bandFactor(bin, total.length)));
}

/** The wave itself, -1..1: the newest samples. */
export function waveLevels(samples: Float32Array, { fftSize, gain }: Analysis): Float64Array {
  const newest = Float64Array.from(samples.subarray(samples.length - fftSize));
  return newest.map((sample) => Math.min(1, Math.max(-1, sample * gain)));
}

function levelsOf(samples: Float32Array, fftSize: number, gain: number): Float64Array {
  const windowed = new Float64Array(fftSize);
  samples.forEach((sample, i) => {
    windowed[i] = sample * gain * blackman(i, fftSize);
  });
  return magnitudes(windowed).map((magnitude) => {
    const db = 20 * Math.log10(Math.max(magnitude / fftSize, 1e-12));
    return Math.min(1, Math.max(0, (db - LOWEST_DB) / (HIGHEST_DB - LOWEST_DB)));
  });
}

function blackman(i: number, size: number): number {
  const turn = (2 * Math.PI * i) / size;
  return 0.42 - 0.5 * Math.cos(turn) + 0.08 * Math.cos(2 * turn);
}

function bandFactor(bin: number, bins: number): number {
  const place = bins < 2 ? 0 : bin / (bins - 1);
  return LOW_BAND_FACTOR + (HIGH_BAND_FACTOR - LOW_BAND_FACTOR) * place;
}
