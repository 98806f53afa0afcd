/** The eight looks of a waveform, drawn on a canvas. Knows nothing of where the levels come from. */

export type Mode = "bars" | "roundBars" | "bricks" | "line" | "curve" | "pixel" | "wave" | "spikes";

export interface Look {
  readonly mode: Mode;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly color: string;
  /** Gap between two bars, as a part of a bar's width. */
  readonly barSpacing: number;
  readonly lineWidthPx: number;
}

/** What is used of a canvas context. */
export type Pen = Pick<
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

export function drawWaveform(pen: Pen, levels: ArrayLike<number>, look: Look): void {
  pen.clearRect(0, 0, look.widthPx, look.heightPx);
  if (levels.length === 0 || look.widthPx <= 0 || look.heightPx <= 0) return;
  pen.fillStyle = look.color;
  pen.strokeStyle = look.color;
  pen.lineWidth = look.lineWidthPx;
  pen.lineCap = "round";
  pen.lineJoin = "round";
  pen.beginPath();
  DRAWERS[look.mode](pen, Array.from(levels), look);
}

type Drawer = (pen: Pen, levels: readonly number[], look: Look) => void;

const DRAWERS: Readonly<Record<Mode, Drawer>> = {
  bars: (pen, levels, look) => {
    for (const { x, width, height } of barsOf(levels, look)) {
      pen.rect(x, (look.heightPx - height) / 2, width, height);
    }
    pen.fill();
  },
  roundBars: (pen, levels, look) => {
    for (const { x, width, height } of barsOf(levels, look)) {
      // A silent bar is still a dot.
      const tall = Math.max(height, Math.min(width, look.heightPx));
      pen.roundRect(x, (look.heightPx - tall) / 2, width, tall, width / 2);
    }
    pen.fill();
  },
  bricks: (pen, levels, look) => {
    for (const { x, width, height } of barsOf(levels, look)) {
      const step = width + BRICK_GAP_PX;
      for (let i = 0; i < Math.round(height / step); i += 1) {
        pen.rect(x, look.heightPx - (i + 1) * step + BRICK_GAP_PX, width, width);
      }
    }
    pen.fill();
  },
  pixel: (pen, levels, look) => {
    for (const { x, width, height } of barsOf(levels, { ...look, barSpacing: 0 })) {
      pen.rect(x, look.heightPx - height, width, height);
    }
    pen.fill();
  },
  line: (pen, levels, look) => {
    pointsAround(levels, look).forEach(([x, y], i) =>
      i === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y),
    );
    pen.stroke();
  },
  curve: (pen, levels, look) => {
    smooth(pen, pointsAround(levels, look));
    pen.stroke();
  },
  wave: (pen, levels, look) => {
    const points = pointsAbove(levels, look);
    smooth(pen, points);
    const mirrored = points.map(([x, y]): Point => [x, look.heightPx - y]).reverse();
    smooth(pen, mirrored, { joins: true });
    pen.closePath();
    pen.fill();
  },
  spikes: (pen, levels, look) => {
    const middle = look.heightPx / 2;
    for (const { x, width, height } of barsOf(levels, { ...look, barSpacing: 0 })) {
      pen.moveTo(x, middle);
      pen.lineTo(x + width / 2, middle - height / 2);
      pen.lineTo(x + width, middle);
      pen.lineTo(x + width / 2, middle + height / 2);
      pen.closePath();
    }
    pen.fill();
  },
};

interface Bar {
  readonly x: number;
  readonly width: number;
  readonly height: number;
}

/** Bars of one width over the whole canvas, with gaps between but not around them. */
function barsOf(levels: readonly number[], look: Look): Bar[] {
  const spacing = Math.max(0, look.barSpacing);
  const width = look.widthPx / (levels.length + (levels.length - 1) * spacing);
  return levels.map((level, i) => ({
    x: i * width * (1 + spacing),
    width,
    height: level * look.heightPx,
  }));
}

type Point = readonly [x: number, y: number];

/** Levels -1..1 around the middle, kept inside by half the line's width. */
function pointsAround(levels: readonly number[], look: Look): Point[] {
  const reach = Math.max(0, (look.heightPx - look.lineWidthPx) / 2);
  return spread(levels, look.widthPx).map(([x, level]) => [x, look.heightPx / 2 - level * reach]);
}

function pointsAbove(levels: readonly number[], look: Look): Point[] {
  return spread(levels, look.widthPx).map(([x, level]) => [x, ((1 - level) * look.heightPx) / 2]);
}

function spread(levels: readonly number[], widthPx: number): Point[] {
  const step = levels.length > 1 ? widthPx / (levels.length - 1) : 0;
  return levels.map((level, i) => [i * step, level]);
}

/** A curve through the middles between points, so that it has no corners. */
function smooth(pen: Pen, points: readonly Point[], { joins = false } = {}): void {
  points.forEach(([x, y], i) => {
    const next = points[i + 1];
    if (i === 0 && !joins) pen.moveTo(x, y);
    else if (i === 0 || next === undefined) pen.lineTo(x, y);
    else pen.quadraticCurveTo(x, y, (x + next[0]) / 2, (y + next[1]) / 2);
  });
}
