/** The picture with boxes over it: draw, move and resize them with a mouse, a pen or a finger. */

import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import {
  boxIn,
  drawn,
  hasBoxes,
  hiddenArea,
  hiddenPixels,
  isShown,
  keyframesIn,
  moved,
  resized,
  type Box,
  type Handle,
  type Span,
} from "./boxes.ts";
import type { Item } from "./correction.ts";
import { HiddenAreas } from "./hidden_areas.tsx";

const HANDLES: readonly Handle[] = [
  { across: -1, down: -1 },
  { across: 0, down: -1 },
  { across: 1, down: -1 },
  { across: 1, down: 0 },
  { across: 1, down: 1 },
  { across: 0, down: 1 },
  { across: -1, down: 1 },
  { across: -1, down: 0 },
];
const HANDLE_PX = 10;

interface Drag {
  id: number | null;
  handle: Handle | null;
  from: { x: number; y: number };
  box: Box | null;
}

export interface StageProps {
  items: readonly Item[];
  /** Those that a later step hides. */
  hidden: readonly Item[];
  span: Span;
  size: { width: number; height: number };
  selected: number | null;
  zoom: number;
  isPreview: boolean;
  isReadOnly: boolean;
  onSelect: (id: number | null) => void;
  /** `change` is the same for all steps of one drag. */
  onBox: (id: number, box: Box, change: string) => void;
  onDraw: (box: Box) => void;
  children: ComponentChildren;
}

export function Stage(props: StageProps): JSX.Element {
  const { items, span, size, selected, zoom, isPreview, isReadOnly } = props;
  const overlay = useRef<SVGSVGElement>(null);
  const film = useRef<HTMLDivElement>(null);
  const drag = useRef<Drag | null>(null);
  const dragCount = useRef(0);
  const [sketch, setSketch] = useState<Box | null>(null);

  const place = (event: PointerEvent): { x: number; y: number } => {
    const { left, top, width, height } = overlay.current!.getBoundingClientRect();
    return { x: (event.clientX - left) / width, y: (event.clientY - top) / height };
  };
  const begin = (event: PointerEvent, of: Omit<Drag, "from">): void => {
    if (event.button !== 0) return;
    event.stopPropagation();
    props.onSelect(of.id);
    if (isReadOnly) return;
    overlay.current!.setPointerCapture(event.pointerId);
    drag.current = { ...of, from: place(event) };
    dragCount.current += 1;
  };
  const move = (event: PointerEvent): void => {
    const now = drag.current;
    if (now === null) return;
    const { x, y } = place(event);
    const [dx, dy] = [x - now.from.x, y - now.from.y];
    if (now.id === null || now.box === null) {
      setSketch(drawn(now.from.x, now.from.y, x, y));
    } else if (dx !== 0 || dy !== 0) {
      const box = now.handle ? resized(now.box, now.handle, dx, dy) : moved(now.box, dx, dy);
      props.onBox(now.id, box, `drag ${dragCount.current}`);
    }
  };
  const end = (event: PointerEvent): void => {
    const now = drag.current;
    drag.current = null;
    setSketch(null);
    if (now === null || now.id !== null || event.type === "pointercancel") return;
    const { x, y } = place(event);
    const box = drawn(now.from.x, now.from.y, x, y);
    if (box !== null) props.onDraw(box);
  };

  const shown = items.filter(({ annotation }) => hasBoxes(annotation) && isShown(annotation, span));
  return (
    <div class="review-stage">
      <div
        ref={film}
        class="review-film"
        style={{ width: `${100 * zoom}%`, aspectRatio: `${size.width} / ${size.height}` }}
      >
        {props.children}
        {isPreview && (
          <HiddenAreas
            film={film}
            rectsIn={(width, height) =>
              props.hidden.flatMap(({ annotation }) => {
                const area = hiddenArea(annotation, span);
                return area === null ? [] : [hiddenPixels(area, width, height)];
              })
            }
          />
        )}
        <svg
          ref={overlay}
          class={`review-boxes${isReadOnly ? "" : " drawable"}${isPreview ? " preview" : ""}`}
          viewBox={`0 0 ${size.width} ${size.height}`}
          preserveAspectRatio="none"
          aria-label="Boxes of this frame"
          role="group"
          onPointerDown={(event) => begin(event, { id: null, handle: null, box: null })}
          onPointerMove={move}
          onPointerUp={end}
          onPointerCancel={end}
        >
          {shown.map((item) => (
            <DrawnBox
              key={item.id}
              item={item}
              span={span}
              size={size}
              isSelected={item.id === selected}
              handlePx={(HANDLE_PX * size.width) / (overlay.current?.clientWidth || size.width)}
              onSelect={() => props.onSelect(item.id)}
              onBegin={(event, handle, box) => begin(event, { id: item.id, handle, box })}
            />
          ))}
          {sketch && <rect class="review-sketch" {...pixelsOf(sketch, size)} />}
        </svg>
      </div>
    </div>
  );
}

function DrawnBox({
  item: { id, annotation },
  span,
  size,
  isSelected,
  handlePx,
  onSelect,
  onBegin,
}: {
  item: Item;
  span: Span;
  size: { width: number; height: number };
  isSelected: boolean;
  handlePx: number;
  onSelect: () => void;
  onBegin: (event: PointerEvent, handle: Handle | null, box: Box) => void;
}): JSX.Element {
  const box = hasBoxes(annotation) ? boxIn(annotation, span) : { x: 0, y: 0, w: 0, h: 0 };
  const { x, y, width, height } = pixelsOf(box, size);
  const isKeyframe = keyframesIn(annotation, span).length > 0;
  const state = `${isSelected ? " selected" : ""}${isKeyframe ? " keyframe" : ""}`;
  return (
    <g
      class={`review-box${state}`}
      data-id={id}
      // In SVG the names of attributes keep their letters.
      tabindex={0}
      role="button"
      aria-pressed={isSelected}
      aria-label={`${annotation.label ?? annotation.kind}, ${isKeyframe ? "keyframe" : "between keyframes"}`}
      onFocus={onSelect}
    >
      <rect
        x={x}
        y={y}
        width={width}
        height={height}
        onPointerDown={(event) => onBegin(event, null, box)}
      />
      {isSelected &&
        HANDLES.map((handle) => (
          <rect
            key={`${handle.across} ${handle.down}`}
            class="review-handle"
            data-handle={`${handle.across} ${handle.down}`}
            x={x + ((handle.across + 1) / 2) * width - handlePx / 2}
            y={y + ((handle.down + 1) / 2) * height - handlePx / 2}
            width={handlePx}
            height={handlePx}
            onPointerDown={(event) => onBegin(event, handle, box)}
          />
        ))}
    </g>
  );
}

function pixelsOf(
  { x, y, w, h }: Box,
  { width, height }: { width: number; height: number },
): { x: number; y: number; width: number; height: number } {
  return { x: x * width, y: y * height, width: w * width, height: h * height };
}
