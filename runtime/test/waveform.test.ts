import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { drawWaveform, parseMode, type Mode, type CanvasContext } from "../src/waveform/draw.ts";
import { magnitudes } from "../src/waveform/fft.ts";
import {
  FRAME_SAMPLES,
  frequencyLevels,
  RATE_HZ,
  samplesNeeded,
  waveLevels,
} from "../src/waveform/levels.ts";
import { decodeSamples, samplesUrl } from "../src/waveform/samples.ts";

const DEFAULTS = { fftSize: 128, decayFrames: 8, gain: 3 };

function tone(hz: number, count: number, amplitude = 0.5): Float32Array {
  return Float32Array.from(
    { length: count },
    (_, i) => amplitude * Math.sin((2 * Math.PI * hz * i) / RATE_HZ),
  );
}

describe("the transform", () => {
  it("agrees with the definition", () => {
    const samples = Float32Array.from({ length: 16 }, (_, i) => Math.sin(i * i));
    const expected = Array.from({ length: 8 }, (_, k) => {
      let re = 0;
      let im = 0;
      samples.forEach((sample, n) => {
        re += sample * Math.cos((2 * Math.PI * k * n) / 16);
        im -= sample * Math.sin((2 * Math.PI * k * n) / 16);
      });
      return Math.hypot(re, im);
    });
    magnitudes(samples).forEach((magnitude, k) =>
      assert.ok(Math.abs(magnitude - (expected[k] ?? 0)) < 1e-9),
    );
  });

  it("puts a tone into its bin", () => {
    const spectrum = magnitudes(tone((RATE_HZ * 5) / 128, 128));
    assert.equal(spectrum.indexOf(Math.max(...spectrum)), 5);
  });

  it("refuses other sizes", () => {
    assert.throws(() => magnitudes(new Float32Array(100)), RangeError);
  });
});

describe("levels", () => {
  it("needs the samples of all the frames it averages", () => {
    assert.equal(samplesNeeded(DEFAULTS), 12_800);
    assert.equal(samplesNeeded({ ...DEFAULTS, fftSize: 2048, decayFrames: 1 }), 2048);
  });

  it("drops the upper half and is flat in silence", () => {
    const levels = frequencyLevels(new Float32Array(12_800), DEFAULTS);
    assert.equal(levels.length, 32);
    assert.ok(levels.every((level) => level === 0));
  });

  it("stands highest where the tone is, even with the bands weighted", () => {
    const levels = frequencyLevels(tone((RATE_HZ * 10) / 128, 12_800), {
      ...DEFAULTS,
      gain: 0.01,
    });
    assert.equal(levels.indexOf(Math.max(...levels)), 10);
  });

  it("fades a sound that has ended by its age", () => {
    const ended = (frames: number) => {
      const samples = tone(3750, 12_800, 0.01);
      samples.fill(0, samples.length - frames * FRAME_SAMPLES);
      return frequencyLevels(samples, { ...DEFAULTS, gain: 1 })[10] ?? 0;
    };
    const [now, one, four, eight] = [ended(0), ended(1), ended(4), ended(8)];
    assert.ok(now > one && one > four && four > eight);
    assert.equal(eight, 0);
    const rest = (from: number) =>
      Array.from({ length: 8 - from }, (_, k) => 0.8 ** (k + from)).reduce((a, b) => a + b);
    assert.ok(Math.abs(four / now - rest(4) / rest(0)) < 1e-6);
  });

  it("gives the newest samples as the wave, within bounds", () => {
    const samples = new Float32Array(12_800);
    samples[12_799] = 0.9;
    const wave = waveLevels(samples, DEFAULTS);
    assert.equal(wave.length, 128);
    assert.equal(wave[127], 1);
    assert.equal(wave[126], 0);
  });
});

describe("samples", () => {
  it("asks by file or by address", () => {
    assert.equal(
      samplesUrl({ src: "https://a.example/x y.mp3?b=1", fileId: null }, 33.366666666, 12_800),
      "http://127.0.0.1/__framekiln/peaks?src=https%3A%2F%2Fa.example%2Fx+y.mp3%3Fb%3D1&ms=33.36667&window=12800",
    );
    assert.equal(
      samplesUrl({ src: null, fileId: "f1" }, -5, 2),
      "http://127.0.0.1/__framekiln/peaks?fileId=f1&ms=0&window=2",
    );
  });

  it("reads little-endian floats out of x-user-defined text", () => {
    const bytes = new Uint8Array(new Float32Array([0.25, -1]).buffer);
    const text = String.fromCharCode(
      ...[...bytes].map((byte) => (byte > 127 ? 0xf700 + byte : byte)),
    );
    assert.deepEqual([...decodeSamples(text, 2)], [0.25, -1]);
    assert.deepEqual([...decodeSamples(text, 3)], [0, 0.25, -1]);
  });
});

describe("drawing", () => {
  function recorder(): { context: CanvasContext; calls: [string, number[]][] } {
    const calls: [string, number[]][] = [];
    const context = new Proxy({} as CanvasContext, {
      get:
        (_, name) =>
        (...args: number[]) =>
          calls.push([String(name), args]),
      set: () => true,
    });
    return { context, calls };
  }
  const style = { widthPx: 100, heightPx: 50, color: "red", barSpacing: 0.5, lineWidthPx: 4 };

  it("fills the width with bars and gaps of half a bar", () => {
    const { context, calls } = recorder();
    drawWaveform(context, [1, 0.5, 0, 1, 1], { ...style, mode: "bars" });
    const rects = calls.filter(([name]) => name === "rect").map(([, args]) => args);
    const width = 100 / 7;
    assert.equal(rects.length, 5);
    assert.deepEqual(rects[0], [0, 0, width, 50]);
    assert.deepEqual(rects[1], [width * 1.5, 12.5, width, 25]);
    assert.ok(Math.abs((rects[4]?.[0] ?? 0) + width - 100) < 1e-9);
  });

  it("stays inside the canvas in every mode", () => {
    const modes: Mode[] = [
      "bars",
      "roundBars",
      "bricks",
      "line",
      "curve",
      "pixel",
      "wave",
      "spikes",
    ];
    for (const mode of modes) {
      assert.equal(parseMode(mode), mode);
      const { context, calls } = recorder();
      drawWaveform(context, [0, 1, 0.5, 1, 0.2], { ...style, mode });
      const points = calls.filter(([name]) => name === "lineTo" || name === "moveTo");
      for (const [, [x = 0, y = 0]] of points) {
        assert.ok(x >= 0 && x <= 100.0001 && y >= 0 && y <= 50, `${mode}: ${x}, ${y}`);
      }
      const painted = calls.some(([name]) => name === "fill" || name === "stroke");
      assert.ok(painted, mode);
    }
  });

  it("takes an unknown mode for bars", () => {
    assert.equal(parseMode("sparkles"), "bars");
    assert.equal(parseMode(null), "bars");
  });
});
