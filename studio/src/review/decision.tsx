/** Approve a task, with corrections if there are any, or reject it with a reason. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { problemOf, request, type Problem, type ResultOf } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { Field, ProblemNote } from "../ui/parts.tsx";
import type { Correction } from "./correction.ts";

export type Review = ResultOf<"get", "/api/v1/pipeline-reviews/{review_id}">;

export function Decision({
  review,
  correction,
  onDecided,
  onProblem,
}: {
  review: Review;
  correction: Correction | null;
  onDecided: (review: Review) => void;
  /** With the place of the wrong annotation in the correction. */
  onProblem: (annotation: number | null) => void;
}): JSX.Element {
  const [reason, setReason, forgetReason] = useDraft(`review.${review.id}.reason`, "");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isSending, setSending] = useState(false);
  const send = (what: () => Promise<Review>): void => {
    setSending(true);
    setProblem(null);
    what().then(
      (decided) => {
        forgetReason();
        onDecided(decided);
      },
      (error: unknown) => {
        const found = problemOf(error);
        const place = /annotations[.[](\d+)/.exec(found.field ?? found.message)?.[1];
        setProblem(found);
        setSending(false);
        onProblem(place === undefined ? null : Number(place));
      },
    );
  };
  const path = { review_id: review.id };
  const approve = (): void =>
    send(() =>
      request("post", "/api/v1/pipeline-reviews/{review_id}/approve", {
        path,
        body: (correction === null ? {} : { metadata_patch: correction }) as never,
      }),
    );
  const reject = (): void =>
    send(() =>
      request("post", "/api/v1/pipeline-reviews/{review_id}/reject", {
        path,
        body: (reason.trim() === "" ? {} : { reason }) as never,
      }),
    );
  return (
    <section class="card stack" aria-label="Decision">
      <h2>Decision</h2>
      {review.instructions && <p class="review-instructions">{review.instructions}</p>}
      <p class="quiet">
        {correction === null
          ? "Nothing is changed."
          : `Changed: ${correction.reviewed_kinds.join(", ")}.`}
      </p>
      {problem?.field !== "reason" && <ProblemNote problem={problem} />}
      <button type="button" class="primary" disabled={isSending} onClick={approve}>
        {correction === null ? "Approve" : "Approve with corrections"}
      </button>
      <Field label="Reason for a rejection" name="reason" problem={problem}>
        {(attributes) => (
          <textarea
            {...attributes}
            rows={2}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        )}
      </Field>
      <button type="button" class="danger" disabled={isSending} onClick={reject}>
        Reject
      </button>
    </section>
  );
}
