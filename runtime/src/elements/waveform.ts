/** ef-waveform: draws the sound of another element, frame by frame. */

import { isHosted } from "../host.ts";
import { selectorOf } from "../selector.ts";
import { parseNumber } from "../timing/parse.ts";
import { drawsWave, drawWaveform, parseMode, type WaveformStyle } from "../waveform/draw.ts";
import { frequencyLevels, samplesNeeded, waveLevels, type Analysis } from "../waveform/levels.ts";
import { fetchSamples } from "../waveform/samples.ts";
import { MediaElement } from "./media.ts";
import { sheetOf } from "./picture_box.ts";
import { elementNamed } from "./target.ts";
import { reflect, TimedElement } from "./timed.ts";

const STYLES = `
  :host { display: block; }
  canvas { display: block; width: 100%; height: 100%; }
`;
const MAX_FFT = 32_768;
const MAX_DECAY = 60;

let styles: CSSStyleSheet | null = null;

export class WaveformElement extends TimedElement {
  private readonly canvas = document.createElement("canvas");

  constructor() {
    super();
    styles ??= sheetOf(STYLES);
    const shadow = this.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [styles];
    shadow.append(this.canvas);
  }

  /** It lasts as long as what it shows. */
  override intrinsicMs(): number | null {
    return this.target()?.ownLengthMs() ?? null;
  }

  override failure(): string {
    if (document.readyState === "loading" || this.target() !== null) return "";
    const id = this.attribute("target", "for");
    if (id === null) return `${selectorOf(this)} has no target: name an ef-audio or ef-video by id`;
    return `${selectorOf(this)} target="${id}": there is no ef-audio or ef-video with that id`;
  }

  override update(ownMs: number): void {
    const target = this.target();
    if (target === null || !isHosted()) return;
    const style = this.waveformStyle();
    const analysis = analysisFor(target);
    const samples = this.samplesOf(target, { analysis, nowMs: this.startTimeMs + ownMs });
    const levels = drawsWave(style.mode)
      ? waveLevels(samples, analysis)
      : frequencyLevels(samples, analysis);
    const context = this.canvas.getContext("2d");
    if (context !== null) drawWaveform(context, levels, style);
  }

  private target(): MediaElement | null {
    const found = elementNamed(this.attribute("target", "for"));
    return found instanceof MediaElement ? found : null;
  }

  private samplesOf(
    target: MediaElement,
    { analysis, nowMs }: { analysis: Analysis; nowMs: number },
  ): Float32Array {
    const window = samplesNeeded(analysis);
    const atMs = target.heardMsAt(nowMs - target.startTimeMs);
    const isPlaying = target.startTimeMs <= nowMs && nowMs < target.endTimeMs;
    if (!isPlaying || atMs === null || target.source === null) return new Float32Array(window);
    try {
      return fetchSamples(target.source, atMs, window);
    } catch (error) {
      throw new Error(`${selectorOf(this)} cannot draw its target: ${(error as Error).message}`);
    }
  }

  /** Sizes and colours as the styles have them now. */
  private waveformStyle(): WaveformStyle {
    const { canvas } = this;
    const widthPx = canvas.clientWidth;
    const heightPx = canvas.clientHeight;
    if (canvas.width !== widthPx) canvas.width = widthPx;
    if (canvas.height !== heightPx) canvas.height = heightPx;
    canvas.style.color = this.attribute("color") ?? "currentColor";
    return {
      mode: parseMode(this.attribute("mode")),
      widthPx,
      heightPx,
      color: getComputedStyle(canvas).color,
      barSpacing: numberIn(this.attribute("bar-spacing"), 0.5),
      lineWidthPx: numberIn(this.attribute("line-width"), 4),
    };
  }
}

function analysisFor(target: MediaElement): Analysis {
  const fftSize = numberIn(target.attribute("fft-size"), 128);
  const power = Math.round(Math.log2(Math.min(Math.max(fftSize, 32), MAX_FFT)));
  const decay = Math.round(numberIn(target.attribute("fft-decay"), 8));
  return {
    fftSize: 2 ** power,
    decayFrames: Math.min(Math.max(decay, 1), MAX_DECAY),
    gain: numberIn(target.attribute("fft-gain"), 3),
  };
}

function numberIn(text: string | null, otherwise: number): number {
  const value = parseNumber(text);
  return value !== null && value >= 0 ? value : otherwise;
}

reflect(WaveformElement.prototype, {
  target: "target",
  mode: "mode",
  color: "color",
  barSpacing: "bar-spacing",
  lineWidth: "line-width",
});
