/** The small parts that pages are made of. */

import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import type { Problem } from "../lib/api.ts";
import type { Loaded } from "../lib/load.ts";
import { presentMs } from "../lib/clock.ts";
import { copyText } from "../lib/clipboard.ts";
import { ago, percent } from "../lib/format.ts";
import { follow } from "../lib/router.ts";

const GOOD = new Set([
  "complete",
  "completed",
  "ready",
  "done",
  "succeeded",
  "delivered",
  "approved",
  "active",
]);
const BAD = new Set([
  "failed",
  "error",
  "rejected",
  "cancelled",
  "canceled",
  "expired",
  "paused",
  "revoked",
]);
/** Nothing happens to them any more, and nothing is wrong. */
const OVER = new Set(["filtered", "skipped", "archived"]);

/** The state of a resource: a word and a colour. */
export function Status({ value }: { value: string }): JSX.Element {
  const kind = GOOD.has(value) ? "good" : BAD.has(value) ? "bad" : OVER.has(value) ? "" : "busy";
  return <span class={`status ${kind}`}>{value.replaceAll("_", " ")}</span>;
}

/** What went wrong, for people. */
export function ProblemNote({
  problem,
  retry,
}: {
  problem: Problem | null;
  retry?: () => void;
}): JSX.Element | null {
  if (problem === null) return null;
  return (
    <div class="note bad" role="alert">
      {problem.message}
      {retry && (
        <>
          {" "}
          <button type="button" onClick={retry}>
            Try again
          </button>
        </>
      )}
    </div>
  );
}

/** What is loaded; before that a word, and after a failure the reason. */
export function Show<T>({
  of,
  children,
}: {
  of: Loaded<T>;
  children: (value: T) => ComponentChildren;
}): JSX.Element {
  return (
    <>
      <ProblemNote problem={of.problem} retry={of.reload} />
      {of.value !== null ? children(of.value) : of.isLoading ? <p class="quiet">Loading…</p> : null}
    </>
  );
}

/** A page about something that is loaded first; without it, the page has only its title. */
export function ShowPage<T>({
  of,
  title,
  children,
}: {
  of: Loaded<T>;
  title: string;
  children: (value: T) => ComponentChildren;
}): JSX.Element {
  const shown = <Show of={of}>{children}</Show>;
  return of.value === null ? <Page title={title}>{shown}</Page> : shown;
}

/** A link to another page of the studio. */
export function Link({
  to,
  children,
  ...rest
}: {
  to: string;
  children: ComponentChildren;
  class?: string;
  "aria-current"?: "page" | undefined;
}): JSX.Element {
  return (
    <a href={to} onClick={follow} {...rest}>
      {children}
    </a>
  );
}

/** An input with its label, and the message of the service about it. */
export function Field({
  label,
  hint,
  problem,
  name,
  children,
}: {
  label: string;
  hint?: string;
  name?: string;
  problem?: Problem | null;
  children: (attributes: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": boolean;
  }) => ComponentChildren;
}): JSX.Element {
  const id = useId();
  const message = problem && problem.field === (name ?? null) ? problem.message : null;
  const describedBy = message || hint ? `${id}-text` : undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": describedBy, "aria-invalid": message !== null })}
      {(message ?? hint) && (
        <span id={`${id}-text`} class={message ? "message" : "quiet"}>
          {message ?? hint}
        </span>
      )}
    </div>
  );
}

/** When something happened; the exact time is its title. */
export function Time({ iso }: { iso: string | null | undefined }): JSX.Element {
  if (!iso) return <span class="quiet">—</span>;
  return (
    <time dateTime={iso} title={new Date(iso).toLocaleString()}>
      {ago(iso, presentMs())}
    </time>
  );
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }): JSX.Element {
  const [tried, setTried] = useState<{ text: string; isDone: boolean } | null>(null);
  const copy = async (): Promise<void> => setTried({ text, isDone: await copyText(text) });
  const result = tried?.isDone ? "Copied" : "Select the text and copy it";
  return (
    <button type="button" onClick={() => void copy()}>
      {/* Another text has not been copied. */}
      {tried?.text === text ? result : label}
    </button>
  );
}

/** A secret that the service tells only once. */
export function ShownOnce({
  name,
  text,
}: {
  name: string;
  text: string | null;
}): JSX.Element | null {
  if (text === null) return null;
  return (
    <div class="note good" role="status">
      {name}, shown this once: <code>{text}</code> <Copy text={text} />
    </div>
  );
}

/** A table, which scrolls sideways where it is too wide. */
export function Table({
  columns,
  children,
  label,
}: {
  columns: readonly ComponentChildren[];
  children: ComponentChildren;
  /** For one without links or buttons: keys can only scroll what has the focus. */
  label?: string;
}): JSX.Element {
  return (
    <div class="scrolled" {...(label && { tabIndex: 0, role: "group", "aria-label": label })}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th>{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** Text that may be cut off, with the whole of it as its title. */
export function Whole({ text, isCode = false }: { text: string; isCode?: boolean }): JSX.Element {
  return (
    <span title={text} class={isCode ? "mono" : ""}>
      {text}
    </span>
  );
}

/** Text for those who hear the page. */
export function Unseen({ children }: { children: ComponentChildren }): JSX.Element {
  return <span class="visually-hidden">{children}</span>;
}

/** Names and values. */
export function Facts({
  of,
}: {
  of: readonly (readonly [name: string, value: ComponentChildren])[];
}): JSX.Element {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value ?? "—"}</dd>
        </>
      ))}
    </dl>
  );
}

/** How far something is that is being made. */
export function Progress({ label, fraction }: { label: string; fraction: number }): JSX.Element {
  return (
    <div class="card" role="status">
      <label>
        {label}: {percent(fraction)}
        <progress value={fraction} max={1} />
      </label>
    </div>
  );
}

/** Why something has failed. */
export function Failure({
  of,
}: {
  of: { code: string; message: string; path?: string | null } | null | undefined;
}): JSX.Element | null {
  if (!of) return null;
  return (
    <div class="note bad" role="alert">
      <strong>{of.code}</strong>: {of.message}
      {of.path && !of.message.includes(of.path) && ` (${of.path})`}
    </div>
  );
}

/** Warnings of a resource. */
export function Warnings({ of }: { of: readonly string[] }): JSX.Element | null {
  if (of.length === 0) return null;
  return (
    <div class="note">
      <strong>{of.length === 1 ? "A warning" : `${of.length} warnings`}</strong>
      <ul>
        {of.map((warning) => (
          <li>{warning}</li>
        ))}
      </ul>
    </div>
  );
}

/** A page of the dashboard with its title and what can be done there. */
export function Page({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  document.title = `${title} - Framekiln`;
  return (
    <main class="stack" id="main">
      <div class="row spread">
        <h1>{title}</h1>
        <div class="row">{actions}</div>
      </div>
      {children}
    </main>
  );
}
