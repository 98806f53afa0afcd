/** A review of a file without pictures: it is heard, and decided as it is. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Problem } from "../lib/api.ts";
import { corrected, itemsOf, type Correction } from "../review/correction.ts";
import { Decision, type Asked, type Review } from "../review/decision.tsx";
import type { ReviewInputs } from "../review/editor.tsx";
import { Player } from "../ui/player.tsx";
import { Annotations } from "./run_outputs.tsx";

export function SoundReview({
  review,
  inputs,
  onDecided,
  onClosed,
}: {
  review: Review;
  inputs: ReviewInputs;
  onDecided: (review: Review) => void;
  onClosed: (problem: Problem) => void;
}): JSX.Element {
  const [asked, setAsked] = useState<Asked>(null);
  const found = itemsOf(inputs.outputs);
  const annotations = corrected(found, review.metadata_patch as unknown as Correction | null).map(
    ({ annotation }) => annotation as unknown as Record<string, unknown>,
  );
  return (
    <>
      <section class="card stack" aria-label="Sound">
        <Player src={`/api/v1/files/${inputs.file.id}/content`} hasPicture={false} />
        {annotations.length > 0 && <Annotations of={annotations} />}
      </section>
      {review.status === "pending" && (
        <Decision
          review={review}
          correction={null}
          asked={asked}
          onAsked={setAsked}
          onDecided={onDecided}
          onClosed={onClosed}
          onProblem={() => undefined}
        />
      )}
    </>
  );
}
