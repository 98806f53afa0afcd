/** Approve a task, with corrections if there are any, or reject it with a reason. */

import type { ComponentChildren, JSX, TextareaHTMLAttributes } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { problemOf, request, type Problem, type ResultOf } from "../lib/api.ts";
import { useDraft } from "../lib/drafts.ts";
import { Field, ProblemNote } from "../ui/parts.tsx";
import type { Correction } from "./correction.ts";

export type Review = ResultOf<"get", "/api/v1/pipeline-reviews/{review_id}">;

/** The decision that a key has asked for; it is made when the question is answered. */
export type Asked = "approve" | "reject" | null;

/** The codes of decisions that came too late; a review link ends with its task. */
const CLOSED = new Set([
  "review_conflict",
  "review_expired",
  "review_not_pending",
  "link_expired",
  "link_revoked",
]);

export function Decision({
  review,
  correction,
  asked,
  onAsked,
  onDecided,
  onClosed,
  onProblem,
}: {
  review: Review;
  correction: Correction | null;
  asked: Asked;
  onAsked: (asked: Asked) => void;
  onDecided: (review: Review) => void;
  /** It can no longer be decided: somebody else was faster, or the time is over. */
  onClosed: (problem: Problem) => void;
  /** With the place of the wrong annotation in the correction. */
  onProblem: (annotation: number | null) => void;
}): JSX.Element {
  const [reason, setReason, forgetReason] = useDraft(`review.${review.id}.reason`, "");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isSending, setSending] = useState(false);
  const send = (what: () => Promise<Review>): void => {
    onAsked(null);
    setSending(true);
    setProblem(null);
    what().then(
      (decided) => {
        forgetReason();
        onDecided(decided);
      },
      (error: unknown) => {
        const found = problemOf(error);
        if (CLOSED.has(found.code)) return onClosed(found);
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
  const approval = correction === null ? "Approve" : "Approve with corrections";
  const reasonText = (attributes: TextareaHTMLAttributes): JSX.Element => (
    <textarea
      {...attributes}
      rows={3}
      value={reason}
      onInput={(event) => setReason(event.currentTarget.value)}
    />
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
      <Question
        asked={asked}
        name={asked === "approve" ? approval : "Reject"}
        onYes={asked === "approve" ? approve : reject}
        onNo={() => onAsked(null)}
      >
        {asked === "reject" && <Field label="Why is it rejected?">{reasonText}</Field>}
      </Question>
      {problem?.field !== "reason" && <ProblemNote problem={problem} />}
      <button type="button" class="primary" disabled={isSending} onClick={approve}>
        {approval}
      </button>
      <Field label="Reason for a rejection" name="reason" problem={problem}>
        {reasonText}
      </Field>
      <button type="button" class="danger" disabled={isSending} onClick={reject}>
        Reject
      </button>
    </section>
  );
}

/** Asks before a key decides: Enter confirms (in a text with Ctrl), Escape does not. */
function Question({
  asked,
  name,
  onYes,
  onNo,
  children,
}: {
  asked: Asked;
  name: string;
  onYes: () => void;
  onNo: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (asked === null) return dialog.current?.close();
    dialog.current?.showModal();
    dialog.current?.querySelector<HTMLElement>("textarea, .yes")?.focus();
  }, [asked]);
  return (
    <dialog
      ref={dialog}
      aria-label={name}
      onClose={onNo}
      onKeyDown={(event) => {
        if (event.key === "Enter" && event.ctrlKey && asked !== null) onYes();
      }}
    >
      {asked !== null && (
        <div class="stack">
          <h2>{name}?</h2>
          {children}
          <div class="row">
            <button
              type="button"
              class={`yes ${asked === "reject" ? "danger" : "primary"}`}
              onClick={onYes}
            >
              {name}
            </button>
            <button type="button" onClick={onNo}>
              Cancel
            </button>
          </div>
        </div>
      )}
    </dialog>
  );
}
