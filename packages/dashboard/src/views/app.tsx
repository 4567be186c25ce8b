import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Dashboard } from "../live/dashboard.js";
import { ActivityPage } from "./activity-page.js";
import { ConnectionBanner } from "./connection-banner.js";
import { GroupPage } from "./group-page.js";
import { GroupsPage } from "./groups-page.js";
import { Header } from "./header.js";
import { OverviewPage } from "./overview-page.js";
import { type Route, usePlace } from "./route.js";
import { SignIn } from "./sign-in.js";
import { useDashboard } from "./use-dashboard.js";

export function App({ dashboard }: { dashboard: Dashboard }): JSX.Element {
  useDashboard(dashboard);
  const { route, query } = usePlace();
  const main = useRef<HTMLElement>(null);
  const place = route.kind === "group" ? route.groupId : route.kind;
  // Here, so that who comes back from a group finds the list as it was left.
  const listHref = useRef("#/");
  if (route.kind === "groups") listHref.current = location.hash === "" ? "#/" : location.hash;
  const listTop = useRef(0);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${titleOf(route)} · Tenure`;
    // Whoever follows a link by keyboard or ear goes on reading at the new page's heading.
    if (!isFirst.current) main.current?.querySelector("h1")?.focus();
    isFirst.current = false;
  }, [place]);
  const { status } = dashboard;
  if (status.kind === "refused") return <SignIn dashboard={dashboard} problem={status.problem} />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => skipTo(event, main.current)}>
        Skip to content
      </a>
      <Header dashboard={dashboard} route={route} />
      <ConnectionBanner dashboard={dashboard} />
      <main ref={main} id="main" tabIndex={-1} class={status.kind === "lost" ? "stale" : undefined}>
        {route.kind === "groups" && <GroupsPage dashboard={dashboard} query={query} listTop={listTop} />}
        {route.kind === "overview" && <OverviewPage dashboard={dashboard} />}
        {route.kind === "activity" && <ActivityPage dashboard={dashboard} query={query} />}
        {route.kind === "group" && (
          <GroupPage
            key={route.groupId}
            dashboard={dashboard}
            groupId={route.groupId}
            query={query}
            listHref={listHref.current}
          />
        )}
      </main>
    </>
  );
}

/** The address after # is the route, so the browser's own jump would leave the page. */
function skipTo(event: Event, main: HTMLElement | null): void {
  event.preventDefault();
  main?.focus();
}

function titleOf(route: Route): string {
  if (route.kind === "group") return route.groupId;
  return route.kind.charAt(0).toUpperCase() + route.kind.slice(1);
}
