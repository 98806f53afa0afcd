/** Login with a one-time link or with a password. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { problemOf, request, type Problem } from "../lib/api.ts";
import { goTo } from "../lib/router.ts";
import { reviewLinkProblem, session } from "../lib/session.ts";
import { Field, ProblemNote } from "../ui/parts.tsx";

/** The code stands behind `#`, so it reaches neither logs nor other pages. */
const CODE = /^#code=([\w-]+)$/;

export function Login(): JSX.Element {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isSending, setSending] = useState(false);

  const begin = (send: () => ReturnType<typeof logIn>): void => {
    setSending(true);
    setProblem(null);
    send().then(
      (found) => {
        if (location.pathname === "/studio/login") goTo("/", { replace: true });
        session.value = found;
      },
      (error: unknown) => {
        setProblem(problemOf(error));
        setSending(false);
      },
    );
  };
  useEffect(() => {
    document.title = "Log in - Framekiln";
    const code = CODE.exec(location.hash)?.[1];
    if (code === undefined) return;
    history.replaceState(null, "", location.pathname);
    begin(() => request("post", "/login/code", { body: { code } }));
  }, []);

  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    begin(() => logIn(String(form.get("email")), String(form.get("password"))));
  };
  return (
    <main class="login" id="main">
      <form class="card stack" onSubmit={submit}>
        <h1>Framekiln</h1>
        <p class="quiet">
          Log in. The command <code>framekiln users login-link</code> prints a link that needs no
          password.
        </p>
        <ProblemNote problem={reviewLinkProblem.value} />
        {problem?.field == null && <ProblemNote problem={problem} />}
        <Field label="E-mail address" name="email" problem={problem}>
          {(attributes) => (
            <input {...attributes} name="email" type="email" required autocomplete="username" />
          )}
        </Field>
        <Field label="Password" name="password" problem={problem}>
          {(attributes) => (
            <input
              {...attributes}
              name="password"
              type="password"
              required
              autocomplete="current-password"
            />
          )}
        </Field>
        <button class="primary" disabled={isSending}>
          Log in
        </button>
      </form>
    </main>
  );
}

function logIn(email: string, password: string) {
  return request("post", "/login", { body: { email, password } });
}
