import type { JSX } from "preact";
import type { Dashboard } from "../live/dashboard.js";
import { clockTime } from "../model/format.js";

/** Warns that the page shows an old state, or that the store behind the service is unavailable. */
export function ConnectionBanner({ dashboard: { status, sampler } }: { dashboard: Dashboard }): JSX.Element {
  return (
    <div class="banner-place" role="alert">
      {status.kind === "lost" && (
        <p class="banner bad">
          <strong>Connection lost at {clockTime(status.sinceMs)}.</strong> Showing the last known state;
          reconnecting…
        </p>
      )}
      {status.kind === "live" && sampler.store === "silent" && (
        <p class="banner warn">
          <strong>The store is unavailable.</strong> Until it responds, there are no elections and no
          renewals.
        </p>
      )}
    </div>
  );
}
