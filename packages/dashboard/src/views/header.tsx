import type { JSX } from "preact";
import type { Dashboard } from "../live/dashboard.js";
import { Brand } from "./brand.js";
import { KeyboardHelp } from "./keyboard-help.js";
import type { Route } from "./route.js";
import { ThemeSwitch } from "./theme-switch.js";

export function Header({ dashboard, route }: { dashboard: Dashboard; route: Route }): JSX.Element {
  const link = (href: string, text: string, ...kinds: readonly Route["kind"][]): JSX.Element => (
    <a href={href} aria-current={kinds.includes(route.kind) ? "page" : undefined}>
      {text}
    </a>
  );
  return (
    <header class="top">
      <Brand />
      <nav aria-label="Pages">
        {link("#/", "Groups", "groups", "group")}
        {link("#/overview", "Overview", "overview")}
        {link("#/activity", "Activity", "activity")}
      </nav>
      <div class="top-end">
        <Status dashboard={dashboard} />
        <Identity dashboard={dashboard} />
        <a class="docs" href={dashboard.docsUrl()} target="_blank" rel="noreferrer">
          Docs
        </a>
        <ThemeSwitch />
        <KeyboardHelp />
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
