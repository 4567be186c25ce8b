import type { JSX } from "preact";
import type { Dashboard } from "../live/dashboard.js";
import { clockTime } from "../model/format.js";

/** Says at once that what is shown is old, or that the store behind the service does not answer. */
export function ConnectionBanner({ dashboard: { status, sampler } }: { dashboard: Dashboard }): JSX.Element {
  return (
    <div class="banner-place" role="alert">
      {status.kind === "lost" && (
        <p class="banner bad">
          <strong>The server is lost since {clockTime(status.sinceMs)}.</strong> What you see is how it was
          then. Trying to come back …
        </p>
      )}
      {status.kind === "live" && sampler.store === "silent" && (
        <p class="banner warn">
          <strong>The store does not answer.</strong> No one is elected and no lease is renewed until it does.
        </p>
      )}
    </div>
  );
}
