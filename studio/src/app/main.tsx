/** The dashboard: the page that the address names, or the login. */

import "../ui/base.css";
import "./app.css";
import "../review/review.css";
import { render, type ComponentType, type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useAction } from "../lib/actions.ts";
import { useActivity } from "../lib/activity.ts";
import { request } from "../lib/api.ts";
import { isDisconnected } from "../lib/events.ts";
import { firstPage, mayOpen } from "../lib/roles.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import {
  findSession,
  logOut,
  openReviewLink,
  reviewLink,
  session,
  sessionProblem,
  waitingLink,
  type Session,
} from "../lib/session.ts";
import { Link, Page, ProblemNote } from "../ui/parts.tsx";
import { Home } from "./home.tsx";
import { Login } from "./login.tsx";

type PageModule = { default: ComponentType };

/** Pages beyond the first are loaded when they are opened. */
const PAGES: Record<string, { title: string | null; load: () => Promise<PageModule> }> = {
  playground: { title: "Playground", load: () => import("./playground.tsx") },
  renders: { title: "Renders", load: () => import("./renders.tsx") },
  videos: { title: "Videos", load: () => import("./videos.tsx") },
  templates: { title: "Templates", load: () => import("./templates.tsx") },
  files: { title: "Files", load: () => import("./files.tsx") },
  pipelines: { title: "Pipelines", load: () => import("./pipelines.tsx") },
  runs: { title: "Runs", load: () => import("./runs.tsx") },
  batches: { title: "Batches", load: () => import("./batches.tsx") },
  endpoints: { title: "Endpoints", load: () => import("./endpoints.tsx") },
  reviews: { title: "Reviews", load: () => import("./reviews.tsx") },
  webhooks: { title: "Webhooks", load: () => import("./webhooks.tsx") },
  people: { title: "People", load: () => import("./people.tsx") },
  audit: { title: "Audit log", load: () => import("./audit.tsx") },
  settings: { title: "Settings", load: () => import("./settings.tsx") },
  // Not in the menu: whoever opens it has not joined yet.
  invitation: { title: null, load: () => import("./invitation.tsx") },
};

function App(): JSX.Element {
  useEffect(() => void findSession(), []);
  useActivity(Boolean(session.value));
  if (place.value.page === "invitation") return <Current name="invitation" />;
  if (session.value === undefined) return <Opening />;
  // Somebody with a review link can still follow a link that logs in.
  const isReviewer = reviewLink.value !== null && place.value.page !== "login";
  if (session.value === null) return isReviewer ? <Reviewer /> : <Login />;
  if (waitingLink.value !== null) return <OtherOrganization token={waitingLink.value} />;
  return (
    <div class="app">
      <Navigation of={session.value} />
      <div>
        {isDisconnected.value && (
          <div class="note bad disconnected" role="status">
            The connection to the service is lost. Trying again…
          </div>
        )}
        <Allowed of={session.value} />
      </div>
    </div>
  );
}

/** Before it is known who is logged in. */
function Opening(): JSX.Element {
  if (sessionProblem.value === null) return <p class="login quiet">Loading…</p>;
  return (
    <main class="login" id="main">
      <ProblemNote problem={sessionProblem.value} retry={() => void findSession()} />
    </main>
  );
}

/** For a user who follows a review link of an organization to which they do not belong. */
function OtherOrganization({ token }: { token: string }): JSX.Element {
  const { user, organization } = session.value!;
  return (
    <main class="login" id="main">
      <section class="card stack">
        <h1>Open the review link?</h1>
        <p>
          You are logged in to {organization.name} as {user.email}. This link belongs to another
          organization, and opening it logs you out.
        </p>
        <ProblemNote problem={sessionProblem.value} />
        <button type="button" class="primary" onClick={() => void openReviewLink(token, true)}>
          Log out and open the link
        </button>
        <button
          type="button"
          onClick={() => {
            waitingLink.value = null;
            goTo("/", { replace: true });
          }}
        >
          Stay logged in
        </button>
      </section>
    </main>
  );
}

/** The page that the address names, unless the role does not open it. */
function Allowed({ of: { role } }: { of: Session }): JSX.Element {
  const { page } = place.value;
  const isElsewhere = page === "home" && !mayOpen(role, page);
  useEffect(() => {
    if (isElsewhere) goTo(pathTo(firstPage(role)), { replace: true });
  }, [isElsewhere, role]);
  if (mayOpen(role, page)) return <Current name={page} />;
  return (
    <Page title="Not for your role">
      <p>You are a {role} here, which does not open this page. An owner can change that.</p>
      <p>
        <Link to={pathTo(firstPage(role))}>Back</Link>
      </p>
    </Page>
  );
}

/** For somebody with a review link: one task, and nothing else. */
function Reviewer(): JSX.Element {
  const path = pathTo("reviews", reviewLink.value!.review_id);
  useEffect(() => {
    if (location.pathname !== path) goTo(path, { replace: true });
  }, [path]);
  return (
    <div class="reviewer">
      <Current name="reviews" />
    </div>
  );
}

function Navigation({ of: known }: { of: Session }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { problem, isRunning, run } = useAction();
  const { page } = place.value;
  const entry = (name: string, title: string): JSX.Element => (
    <Link to={pathTo(name)} aria-current={page === name ? "page" : undefined}>
      {title}
    </Link>
  );
  return (
    <nav aria-label="Studio" class={isOpen ? "open" : ""} onClick={() => isOpen && setOpen(false)}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Link to="/" class="brand">
        Framekiln
      </Link>
      <button
        type="button"
        class="menu-button"
        aria-expanded={isOpen}
        onClick={(event) => {
          event.stopPropagation();
          setOpen(!isOpen);
        }}
      >
        Menu
      </button>
      {mayOpen(known.role, "home") && entry("home", "Home")}
      {Object.entries(PAGES).map(
        ([name, { title }]) => title && mayOpen(known.role, name) && entry(name, title),
      )}
      <a href="/docs">API reference</a>
      <div class="who">
        <Organizations of={known} />
        <div class="quiet">
          {known.user.email} ({known.role})
        </div>
        <ProblemNote problem={problem} />
        <button type="button" disabled={isRunning} onClick={() => run(logOut)}>
          Log out
        </button>
      </div>
    </nav>
  );
}

/** Where the session is; a user of several organizations can go to another. */
function Organizations({ of: known }: { of: Session }): JSX.Element {
  const { problem, run } = useAction();
  if (known.organizations.length < 2) return <div>{known.organization.name}</div>;
  const choose = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const body = { organization_id: String(data.get("organization")) };
    run(async () => {
      await request("post", "/session/organization", { body });
      // Nothing of the other organization may stay on the page.
      location.assign("/");
    });
  };
  return (
    <form class="stack" onSubmit={choose} onClick={(event) => event.stopPropagation()}>
      <ProblemNote problem={problem} />
      <select name="organization" aria-label="Organization">
        {known.organizations.map(({ id, name }) => (
          <option key={id} value={id} selected={id === known.organization.id}>
            {name}
          </option>
        ))}
      </select>
      <button>Switch</button>
    </form>
  );
}

const loadedPages = new Map<string, ComponentType>([["home", Home]]);

function Current({ name }: { name: string }): JSX.Element {
  const [, setCount] = useState(0);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    setFailure("");
    if (loadedPages.has(name) || !(name in PAGES)) return;
    PAGES[name]!.load().then(
      (module) => {
        loadedPages.set(name, module.default);
        setCount((count) => count + 1);
      },
      (error: unknown) => setFailure(String(error)),
    );
  }, [name]);
  const Found = loadedPages.get(name);
  if (Found !== undefined) return <Found key={name} />;
  if (failure !== "") {
    return (
      <div class="note bad" role="alert">
        This part of the studio could not be loaded; the service may have been updated.{" "}
        <button type="button" onClick={() => location.reload()}>
          Load it again
        </button>
      </div>
    );
  }
  if (name in PAGES) return <p class="quiet">Loading…</p>;
  return (
    <Page title="There is no such page">
      <p>
        <Link to="/">Home</Link>
      </p>
    </Page>
  );
}

render(<App />, document.getElementById("root") as HTMLElement);
