/** The eight styles of a waveform, drawn on a canvas. Knows nothing of where the levels come from. */

export type Mode = "bars" | "roundBars" | "bricks" | "line" | "curve" | "pixel" | "wave" | "spikes";

export interface WaveformStyle {
  readonly mode: Mode;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly color: string;
  /** Gap between two bars, as a part of a bar's width. */
  readonly barSpacing: number;
  readonly lineWidthPx: number;
}

/** What is used of a `CanvasRenderingContext2D`. */
export type CanvasContext = Pick<
  CanvasRenderingContext2D,
  | "clearRect"
  | "beginPath"
  | "closePath"
  | "moveTo"
  | "lineTo"
  | "quadraticCurveTo"
  | "rect"
  | "roundRect"
  | "fill"
  | "stroke"
  | "fillStyle"
  | "strokeStyle"
  | "lineWidth"
  | "lineCap"
  | "lineJoin"
>;

export const MODES: readonly string[] = [
  "bars",
  "roundBars",
  "bricks",
  "line",
  "curve",
  "pixel",
  "wave",
  "spikes",
];
const BRICK_GAP_PX = 2;

export function parseMode(value: string | null): Mode {
  return value !== null && MODES.includes(value) ? (value as Mode) : "bars";
}

/** These two draw the wave itself; the others draw levels by frequency. */
export function drawsWave(mode: Mode): boolean {
  return mode === "line" || mode === "curve";
}

export function drawWaveform(
  context: CanvasContext,
  levels: ArrayLike<number>,
  style: WaveformStyle,
): void {
  context.clearRect(0, 0, style.widthPx, style.heightPx);
  if (levels.length === 0 || style.widthPx <= 0 || style.heightPx <= 0) return;
  context.fillStyle = style.color;
  context.strokeStyle = style.color;
  context.lineWidth = style.lineWidthPx;
  context.lineCap = "round";
  context.lineJoin = "round";
  context.beginPath();
  DRAWERS[style.mode](context, Array.from(levels), style);
}

type Drawer = (context: CanvasContext, levels: readonly number[], style: WaveformStyle) => void;

const DRAWERS: Readonly<Record<Mode, Drawer>> = {
  bars: (context, levels, style) => {
    for (const { x, width, height } of barsOf(levels, style)) {
      context.rect(x, (style.heightPx - height) / 2, width, height);
    }
    context.fill();
  },
  roundBars: (context, levels, style) => {
    for (const { x, width, height } of barsOf(levels, style)) {
      // A silent bar is still a dot.
      const tall = Math.max(height, Math.min(width, style.heightPx));
      context.roundRect(x, (style.heightPx - tall) / 2, width, tall, width / 2);
    }
    context.fill();
  },
  bricks: (context, levels, style) => {
    for (const { x, width, height } of barsOf(levels, style)) {
      const step = width + BRICK_GAP_PX;
      for (let i = 0; i < Math.round(height / step); i += 1) {
        context.rect(x, style.heightPx - (i + 1) * step + BRICK_GAP_PX, width, width);
      }
    }
    context.fill();
  },
  pixel: (context, levels, style) => {
    for (const { x, width, height } of barsOf(levels, { ...style, barSpacing: 0 })) {
      context.rect(x, style.heightPx - height, width, height);
    }
    context.fill();
  },
  line: (context, levels, style) => {
    pointsAround(levels, style).forEach(([x, y], i) =>
      i === 0 ? context.moveTo(x, y) : context.lineTo(x, y),
    );
    context.stroke();
  },
  curve: (context, levels, style) => {
    smooth(context, pointsAround(levels, style));
    context.stroke();
  },
  wave: (context, levels, style) => {
    const points = pointsAbove(levels, style);
    smooth(context, points);
    const mirrored = points.map(([x, y]): Point => [x, style.heightPx - y]).reverse();
    smooth(context, mirrored, { joins: true });
    context.closePath();
    context.fill();
  },
  spikes: (context, levels, style) => {
    const middle = style.heightPx / 2;
    for (const { x, width, height } of barsOf(levels, { ...style, barSpacing: 0 })) {
      context.moveTo(x, middle);
      context.lineTo(x + width / 2, middle - height / 2);
      context.lineTo(x + width, middle);
      context.lineTo(x + width / 2, middle + height / 2);
      context.closePath();
    }
    context.fill();
  },
};

interface Bar {
  readonly x: number;
  readonly width: number;
  readonly height: number;
}

/** Bars of one width over the whole canvas, with gaps between but not around them. */
function barsOf(levels: readonly number[], style: WaveformStyle): Bar[] {
  const spacing = Math.max(0, style.barSpacing);
  const width = style.widthPx / (levels.length + (levels.length - 1) * spacing);
  return levels.map((level, i) => ({
    x: i * width * (1 + spacing),
    width,
    height: level * style.heightPx,
  }));
}

type Point = readonly [x: number, y: number];

/** Levels -1..1 around the middle, kept inside by half the line's width. */
function pointsAround(levels: readonly number[], style: WaveformStyle): Point[] {
  const reach = Math.max(0, (style.heightPx - style.lineWidthPx) / 2);
  return spread(levels, style.widthPx).map(([x, level]) => [x, style.heightPx / 2 - level * reach]);
}

function pointsAbove(levels: readonly number[], style: WaveformStyle): Point[] {
  return spread(levels, style.widthPx).map(([x, level]) => [x, ((1 - level) * style.heightPx) / 2]);
}

function spread(levels: readonly number[], widthPx: number): Point[] {
  const step = levels.length > 1 ? widthPx / (levels.length - 1) : 0;
  return levels.map((level, i) => [i * step, level]);
}

/** A curve through the middles between points, so that it has no corners. */
function smooth(context: CanvasContext, points: readonly Point[], { joins = false } = {}): void {
  points.forEach(([x, y], i) => {
    const next = points[i + 1];
    if (i === 0 && !joins) context.moveTo(x, y);
    else if (i === 0 || next === undefined) context.lineTo(x, y);
    else context.quadraticCurveTo(x, y, (x + next[0]) / 2, (y + next[1]) / 2);
  });
}
