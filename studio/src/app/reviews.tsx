/** All review tasks, open ones first, and the page of one of them. */

import type { JSX } from "preact";
import { useCallback, useState } from "preact/hooks";
import { problemOf, request, type Problem } from "../lib/api.ts";
import { shortId } from "../lib/format.ts";
import { useInterval, useLoad } from "../lib/load.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import { reviewLink, session } from "../lib/session.ts";
import { LongList } from "../ui/long_list.tsx";
import { Copy, Facts, Link, Page, ProblemNote, Show, Status, Time } from "../ui/parts.tsx";
import type { Review } from "../review/decision.tsx";
import { Editor } from "../review/editor.tsx";
import { FrameTimes } from "../review/frames.ts";
import { SoundReview } from "./sound_review.tsx";

const POLL_MS = 2_000;
const STATUSES = ["pending", "approved", "rejected", "expired", "cancelled"] as const;

export default function Reviews(): JSX.Element {
  const [id] = place.value.ids;
  return id === undefined ? <AllReviews /> : <OneReview key={id} id={id} />;
}

function AllReviews(): JSX.Element {
  const status = place.value.query.get("status") ?? "pending";
  const [version, setVersion] = useState(0);
  useInterval(() => setVersion(version + 1), POLL_MS);
  const load = useCallback(
    async (cursor: string | null) => {
      const query = { ...(cursor && { cursor }), ...(status !== "all" && { status }) } as never;
      const page = await request("get", "/api/v1/pipeline-reviews", { query });
      return { items: page.reviews, next: page.next_cursor ?? null };
    },
    [status],
  );
  return (
    <Page
      title="Reviews"
      actions={
        <select
          aria-label="Status"
          value={status}
          onChange={(event) => goTo(`${pathTo("reviews")}?status=${event.currentTarget.value}`)}
        >
          {STATUSES.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
          <option value="all">all</option>
        </select>
      }
    >
      <LongList<Review>
        key={status}
        label="Reviews"
        columns={["Task", "Status", "Step", "Expires", "Created"]}
        load={load}
        version={version}
        idOf={(review) => review.id}
        row={(review) => [
          <Link to={pathTo("reviews", review.id)} class="mono">
            {shortId(review.id)}
          </Link>,
          <Status value={review.status} />,
          review.step_key,
          <Time iso={review.expires_at} />,
          <Time iso={review.created_at} />,
        ]}
        empty={
          status === "pending"
            ? "Nothing waits for a review. Pipelines with a review step put films here for somebody to check."
            : "There are no such tasks."
        }
      />
    </Page>
  );
}

function OneReview({ id }: { id: string }): JSX.Element {
  const path = { review_id: id };
  const [decided, setDecided] = useState<Review | null>(null);
  const [tooLate, setTooLate] = useState<Problem | null>(null);
  const loaded = useLoad(async () => {
    const review = await request("get", "/api/v1/pipeline-reviews/{review_id}", { path });
    const inputs = await request("get", "/api/v1/pipeline-reviews/{review_id}/inputs", { path });
    return { review, inputs, frames: await findFrames(inputs.file.id) };
  }, [id]);
  return (
    <Page
      title={`Review of ${loaded.value?.inputs.file.filename ?? shortId(id)}`}
      actions={
        !reviewLink.value && (
          <Link to={pathTo("reviews")} class="button">
            All reviews
          </Link>
        )
      }
    >
      <Show of={loaded}>
        {({ review: before, inputs, frames }) => {
          const review = decided ?? before;
          // A link ends with the decision.
          const isOver = review.status !== "pending" || tooLate !== null;
          const isShown = !(reviewLink.value && isOver);
          const onClosed = (problem: Problem): void => {
            setTooLate(problem);
            if (!reviewLink.value) loaded.reload();
          };
          const task = { review, inputs, onDecided: setDecided, onClosed };
          return (
            <>
              {tooLate && (
                <div class="note bad" role="alert">
                  <div>{tooLate.message}</div>
                  <div>What you have changed here is not part of the decision.</div>
                </div>
              )}
              {review.status !== "pending" && <Decided review={review} />}
              {isShown && frames && <Editor frames={frames} {...task} />}
              {isShown && !frames && <SoundReview {...task} />}
              {review.status === "pending" && mayMakeLinks() && <ReviewerLink id={id} />}
            </>
          );
        }}
      </Show>
    </Page>
  );
}

/** Null if it has no pictures. */
async function findFrames(fileId: string): Promise<FrameTimes | null> {
  try {
    const path = { file_id: fileId };
    return new FrameTimes(
      (await request("get", "/api/v1/files/{file_id}/frame-times", { path })) as never,
    );
  } catch (error) {
    if (problemOf(error).code === "frame_not_found") return null;
    throw error;
  }
}

function Decided({ review }: { review: Review }): JSX.Element {
  return (
    <section class="card stack" role="status">
      <h2>
        <Status value={review.status} />
      </h2>
      <Facts
        of={[
          ["Decided", <Time iso={review.decided_at} />],
          ["By", review.decision?.decided_by?.type.replaceAll("_", " ") ?? "—"],
          ["Reason", review.decision?.reason ?? "—"],
        ]}
      />
    </section>
  );
}

function mayMakeLinks(): boolean {
  return !reviewLink.value && session.value?.role !== "reviewer";
}

/** For somebody who has no account. */
function ReviewerLink({ id }: { id: string }): JSX.Element {
  const [url, setUrl] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const make = (): void => {
    setProblem(null);
    request("post", "/api/v1/pipeline-reviews/{review_id}/links", {
      path: { review_id: id },
      body: {} as never,
    }).then(
      (link) => setUrl(link.url),
      (error: unknown) => setProblem(problemOf(error)),
    );
  };
  return (
    <section class="card stack">
      <h2>Let somebody else review</h2>
      <p class="quiet">
        Whoever has the link may see and decide this task, for seven days, and nothing else.
      </p>
      <ProblemNote problem={problem} />
      {url === null ? (
        <div>
          <button type="button" onClick={make}>
            Make a link
          </button>
        </div>
      ) : (
        <div class="row">
          <input class="mono review-link" readOnly value={url} aria-label="Link for a reviewer" />
          <Copy text={url} />
        </div>
      )}
    </section>
  );
}
