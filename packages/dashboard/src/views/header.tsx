import type { JSX } from "preact";
import type { Dashboard } from "../live/dashboard.js";
import type { Route } from "./route.js";

export function Header({ dashboard, route }: { dashboard: Dashboard; route: Route }): JSX.Element {
  const current = (isHere: boolean): "page" | undefined => (isHere ? "page" : undefined);
  return (
    <header class="top">
      <a class="brand" href="#/">
        <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
          <rect width="32" height="32" rx="8" class="brand-field" />
          <path d="M7 20.5h18l1-9-5.500 4L16 8l-4.500 7.500L6 11.500zM8 24.500h16" class="brand-mark" />
        </svg>
        Tenure
      </a>
      <nav aria-label="Pages">
        <a href="#/" aria-current={current(route.kind !== "overview")}>
          Groups
        </a>
        <a href="#/overview" aria-current={current(route.kind === "overview")}>
          Overview
        </a>
      </nav>
      <div class="top-end">
        <Status dashboard={dashboard} />
        <Identity dashboard={dashboard} />
      </div>
    </header>
  );
}

function Status({ dashboard: { status, sampler } }: { dashboard: Dashboard }): JSX.Element {
  const [tone, text] =
    status.kind === "live"
      ? sampler.store === "silent"
        ? ["warn", "Store unavailable"]
        : ["good", "Live"]
      : status.kind === "lost"
        ? ["bad", "Connection lost"]
        : ["idle", "Connecting"];
  return (
    <span class={`pill ${tone}`} role="status" aria-label={`Connection: ${text}`}>
      <span class="dot" />
      {text}
    </span>
  );
}

function Identity({ dashboard }: { dashboard: Dashboard }): JSX.Element {
  const { reader, session } = dashboard;
  return (
    <>
      {reader !== null && (
        <span class="identity" title={`signed in as ${reader.name}, ${reader.role}`}>
          {reader.name}
          <span class="muted"> · {reader.role}</span>
        </span>
      )}
      {session.token !== null && (
        <button type="button" class="quiet" onClick={() => dashboard.signOut()}>
          Sign out
        </button>
      )}
    </>
  );
}
