/** The dashboard: the page that the address names, or the login. */

import "../ui/base.css";
import "./app.css";
import "../review/review.css";
import { render, type ComponentType, type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useActivity } from "../lib/activity.ts";
import { isDisconnected } from "../lib/events.ts";
import { goTo, pathTo, place } from "../lib/router.ts";
import {
  findSession,
  logOut,
  openReviewLink,
  reviewLink,
  session,
  waitingLink,
} from "../lib/session.ts";
import { Link } from "../ui/parts.tsx";
import { Home } from "./home.tsx";
import { Login } from "./login.tsx";

type PageModule = { default: ComponentType };

/** Pages beyond the first are loaded when they are opened. */
const PAGES: Record<string, { title: string; load: () => Promise<PageModule> }> = {
  playground: { title: "Playground", load: () => import("./playground.tsx") },
  renders: { title: "Renders", load: () => import("./renders.tsx") },
  videos: { title: "Videos", load: () => import("./videos.tsx") },
  templates: { title: "Templates", load: () => import("./templates.tsx") },
  files: { title: "Files", load: () => import("./files.tsx") },
  pipelines: { title: "Pipelines", load: () => import("./pipelines.tsx") },
  runs: { title: "Runs", load: () => import("./runs.tsx") },
  reviews: { title: "Reviews", load: () => import("./reviews.tsx") },
  webhooks: { title: "Webhooks", load: () => import("./webhooks.tsx") },
  settings: { title: "Settings", load: () => import("./settings.tsx") },
};

function App(): JSX.Element {
  useEffect(() => void findSession(), []);
  useActivity(Boolean(session.value));
  if (session.value === undefined) return <p class="login quiet">Loading…</p>;
  if (session.value === null) return reviewLink.value ? <Reviewer /> : <Login />;
  if (waitingLink.value !== null) return <OtherOrganization token={waitingLink.value} />;
  return (
    <div class="app">
      <Navigation email={session.value.user.email} organization={session.value.organization.name} />
      <div>
        {isDisconnected.value && (
          <div class="note bad disconnected" role="status">
            The connection to the service is lost. Trying again…
          </div>
        )}
        <Current name={place.value.page} />
      </div>
    </div>
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

function Navigation({ email, organization }: { email: string; organization: string }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
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
      {entry("home", "Home")}
      {Object.entries(PAGES).map(([name, { title }]) => entry(name, title))}
      <a href="/docs">API reference</a>
      <div class="who">
        <div>{organization}</div>
        <div class="quiet">{email}</div>
        <button type="button" onClick={() => void logOut()}>
          Log out
        </button>
      </div>
    </nav>
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
    <main id="main">
      <h1>There is no such page</h1>
      <p>
        <Link to="/">Home</Link>
      </p>
    </main>
  );
}

render(<App />, document.getElementById("root") as HTMLElement);
