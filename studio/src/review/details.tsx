/** The selected annotation: its kind, its time and its keyframes. */

import type { JSX } from "preact";
import { duration } from "../lib/format.ts";
import { Facts } from "../ui/parts.tsx";
import { hasBoxes, keyframesIn, type Span } from "./boxes.ts";
import type { Item } from "./correction.ts";

export interface DetailActions {
  onKind: (kind: string) => void;
  onKeyframe: () => void;
  onNoKeyframe: () => void;
  onStart: () => void;
  onEnd: () => void;
  onDelete: () => void;
}

export function Details({
  item,
  span,
  kinds,
  isReadOnly,
  ...actions
}: {
  item: Item;
  span: Span;
  kinds: readonly string[];
  isReadOnly: boolean;
} & DetailActions): JSX.Element {
  const { annotation } = item;
  const count = annotation.keyframes?.length ?? 0;
  const isKeyframe = keyframesIn(annotation, span).length > 0;
  return (
    <section class="card stack" aria-label="Selected annotation">
      <div class="field">
        <label for="review-kind">Kind</label>
        <input
          id="review-kind"
          list="review-kinds"
          value={annotation.kind}
          disabled={isReadOnly}
          onChange={(event) => actions.onKind(event.currentTarget.value.trim())}
        />
        <datalist id="review-kinds">
          {kinds.map((kind) => (
            <option key={kind} value={kind} />
          ))}
        </datalist>
      </div>
      <Facts
        of={[
          ["From", duration(annotation.start_ms)],
          ["To", duration(annotation.end_ms)],
          ["Effect", hasBoxes(annotation) ? "picture is hidden" : "sound is muted"],
          ["Keyframes", String(count)],
        ]}
      />
      {!isReadOnly && (
        <div class="row">
          {hasBoxes(annotation) && (
            <>
              <button type="button" disabled={isKeyframe} onClick={actions.onKeyframe}>
                Add keyframe
              </button>
              <button
                type="button"
                disabled={!isKeyframe || count < 2}
                onClick={actions.onNoKeyframe}
              >
                Remove keyframe
              </button>
            </>
          )}
          <button type="button" onClick={actions.onStart}>
            Begin here
          </button>
          <button type="button" onClick={actions.onEnd}>
            End here
          </button>
          <button type="button" class="danger" onClick={actions.onDelete}>
            Delete
          </button>
        </div>
      )}
    </section>
  );
}
