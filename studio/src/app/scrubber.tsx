/** The loudness of a film over time, with its pictures: click, drag or press keys to go there. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { duration } from "../lib/format.ts";
import { useLoad } from "../lib/load.ts";
import { loudness, tileAt, type Waveform } from "../player/sheet.ts";

const PARTS = 600;
const STEP_S = 1;
const PREVIEW_PX = 160;

export function Scrubber({
  fileId,
  atS,
  durationS,
  onSeek,
}: {
  fileId: string;
  atS: number;
  durationS: number;
  onSeek: (seconds: number) => void;
}): JSX.Element {
  const [pointedS, setPointed] = useState<number | null>(null);
  const wave = useLoad(async () => {
    const response = await fetch(`/api/v1/files/${fileId}/waveform.json`);
    if (!response.ok) return null;
    return loudness((await response.json()) as Waveform, PARTS);
  }, [fileId]);
  const sheet = useSheet(`/api/v1/files/${fileId}/thumbnails.jpg`);
  const shownS = pointedS ?? atS;
  const timeOf = (event: PointerEvent): number => {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return durationS * Math.max(0, Math.min(1, (event.clientX - left) / width));
  };
  const keys: Record<string, number> = {
    ArrowLeft: atS - STEP_S,
    ArrowDown: atS - STEP_S,
    ArrowRight: atS + STEP_S,
    ArrowUp: atS + STEP_S,
    PageUp: atS + 10 * STEP_S,
    PageDown: atS - 10 * STEP_S,
    Home: 0,
    End: durationS,
  };
  return (
    <div
      class="scrubber"
      role="slider"
      tabIndex={0}
      aria-label="Position"
      aria-valuemin={0}
      aria-valuemax={durationS}
      aria-valuenow={Math.min(atS, durationS)}
      aria-valuetext={`${duration(1000 * atS)} of ${duration(1000 * durationS)}`}
      onPointerMove={(event) => {
        setPointed(timeOf(event));
        if (event.buttons === 1) onSeek(timeOf(event));
      }}
      onPointerLeave={() => setPointed(null)}
      onPointerDown={(event) => onSeek(timeOf(event))}
      onKeyDown={(event) => {
        const goal = keys[event.key];
        if (goal === undefined) return;
        event.preventDefault();
        onSeek(Math.max(0, Math.min(durationS, goal)));
      }}
    >
      <Wave values={wave.value ?? []} part={durationS > 0 ? atS / durationS : 0} />
      {sheet && durationS > 0 && (
        <Thumbnail sheet={sheet} atS={shownS} durationS={durationS} isShown={pointedS !== null} />
      )}
    </div>
  );
}

function useSheet(address: string): HTMLImageElement | null {
  const [sheet, setSheet] = useState<HTMLImageElement | null>(null);
  useEffect(() => {
    const image = new Image();
    image.onload = () => setSheet(image);
    image.src = address;
    return () => {
      image.onload = null;
    };
  }, [address]);
  return sheet;
}

function Wave({ values, part }: { values: readonly number[]; part: number }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context) return;
    const style = getComputedStyle(element);
    const { width, height } = element;
    context.clearRect(0, 0, width, height);
    for (let x = 0; x < width; x++) {
      context.fillStyle = style.getPropertyValue(x / width < part ? "--accent" : "--quiet");
      const tall = Math.max(1, (values[x] ?? 0) * height);
      context.fillRect(x, (height - tall) / 2, 1, tall);
    }
  }, [values, part]);
  return <canvas ref={canvas} class="waveform" width={PARTS} height={64} aria-hidden="true" />;
}

function Thumbnail({
  sheet,
  atS,
  durationS,
  isShown,
}: {
  sheet: HTMLImageElement;
  atS: number;
  durationS: number;
  isShown: boolean;
}): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = { width: sheet.naturalWidth, height: sheet.naturalHeight };
  const tile = tileAt(atS, durationS, size);
  const heightPx = Math.round((PREVIEW_PX * tile.height) / tile.width);
  useEffect(() => {
    const from = [tile.x, tile.y, tile.width, tile.height] as const;
    canvas.current?.getContext("2d")?.drawImage(sheet, ...from, 0, 0, PREVIEW_PX, heightPx);
  }, [sheet, tile.x, tile.y]);
  return (
    <div
      class={`thumbnail${isShown ? " pointed" : ""}`}
      style={{ "--part": String(atS / durationS) }}
      aria-hidden="true"
    >
      <canvas ref={canvas} width={PREVIEW_PX} height={heightPx} />
      <span>{duration(1000 * atS)}</span>
    </div>
  );
}
