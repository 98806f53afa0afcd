/** The page of an invitation: what it is for, and the password with which somebody joins. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { problemOf, request, type Problem, type ResultOf } from "../lib/api.ts";
import { firstPage } from "../lib/roles.ts";
import { goTo, pathTo } from "../lib/router.ts";
import { session } from "../lib/session.ts";
import { Field, Link, ProblemNote } from "../ui/parts.tsx";

type Opened = ResultOf<"post", "/login/invitation">;

/** The token stands behind `#`, so it reaches neither logs nor other pages. */
const TOKEN = /^#invitation=([\w-]+)$/;

export default function Invitation(): JSX.Element {
  const [token] = useState(() => TOKEN.exec(location.hash)?.[1] ?? "");
  const [opened, setOpened] = useState<Opened | null>(null);
  const [refusal, setRefusal] = useState<Problem | null>(null);
  useEffect(() => {
    document.title = "Invitation - Framekiln";
    request("post", "/login/invitation", { body: { token } }).then(setOpened, (error: unknown) =>
      setRefusal(problemOf(error)),
    );
  }, [token]);
  return (
    <main class="login" id="main">
      <div class="card stack">
        <h1>Framekiln</h1>
        <ProblemNote problem={refusal} />
        {refusal && (
          <p>
            Those who have joined already can <Link to="/">log in</Link>.
          </p>
        )}
        {opened && <Acceptance token={token} opened={opened} />}
        {!opened && !refusal && <p class="quiet">Loading…</p>}
      </div>
    </main>
  );
}

function Acceptance({ token, opened }: { token: string; opened: Opened }): JSX.Element {
  const { problem, isRunning, run } = useAction();
  const accept = (event: SubmitEvent): void => {
    event.preventDefault();
    const password = String(new FormData(event.currentTarget as HTMLFormElement).get("password"));
    run(async () => {
      const body = { token, password };
      const found = await request("post", "/login/invitation/accept", { body });
      session.value = found;
      goTo(pathTo(firstPage(found.role)), { replace: true });
    });
  };
  return (
    <form class="stack" onSubmit={accept}>
      <p>
        <strong>{opened.email}</strong> is invited to <strong>{opened.organization}</strong> as{" "}
        {opened.role}.
      </p>
      {problem?.field !== "password" && <ProblemNote problem={problem} />}
      {/* For password managers. */}
      <input
        class="visually-hidden"
        type="email"
        value={opened.email}
        autocomplete="username"
        readOnly
        tabIndex={-1}
        aria-hidden="true"
      />
      <Field
        label={opened.has_account ? "Your password" : "Choose a password"}
        hint={
          opened.has_account ? "This e-mail address has an account." : "At least 10 characters."
        }
        name="password"
        problem={problem}
      >
        {(attributes) => (
          <input
            {...attributes}
            name="password"
            type="password"
            required
            autocomplete={opened.has_account ? "current-password" : "new-password"}
          />
        )}
      </Field>
      <button class="primary" disabled={isRunning}>
        Join {opened.organization}
      </button>
    </form>
  );
}
