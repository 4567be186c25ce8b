/**
 * Compares a server's clocks with those of this machine. Leases rely on the rate of clocks: each may be off by the drift margin.
 * The wall clock decides nothing, but people read it, and signed mandates are checked by it.
 *
 * The rate is measured by renewals: each answer contains the end of the lease, and so the server's time, to the millisecond.
 */
import { DEFAULT_DRIFT_RATIO, type Clock, type RenewRequest, sleep } from "@tenure/core";
import { ClockOffset } from "../frame/clock-offset.js";
import { openTarget } from "../frame/connection.js";
import { tellDuration } from "../frame/duration.js";
import { probe } from "../frame/http-probe.js";
import { type Finding, messageOf, note, ok, wrong } from "./finding.js";
import { RateBounds } from "./rate-bounds.js";
import type { ServerOf } from "./server-checks.js";

const SAMPLE_EVERY_MS = 50;
/** Bounds this close show a clock that runs at the wrong rate. With a busy server it takes longer until they are as close. */
const CLOSE_ENOUGH = DEFAULT_DRIFT_RATIO / 2;
const MIN_MEASURE_MS = 1000;
const MAX_MEASURE_MS = 10_000;
const SKEW_MS = 2000;
/** The server holds a lease for ttl·(1+ρ), the leader acts for ttl·(1−ρ): the rates of their clocks may differ by this factor. */
const LARGEST_RATIO = (1 + DEFAULT_DRIFT_RATIO) / (1 - DEFAULT_DRIFT_RATIO);

export async function checkSkew(server: ServerOf, clock: Clock): Promise<Finding[]> {
  const about = `clocks of ${server.url}`;
  const offset = new ClockOffset();
  try {
    const startedMs = clock.monotonicMs();
    while (clock.monotonicMs() - startedMs < MIN_MEASURE_MS) {
      offset.take(await probe(`${server.url}/healthz`, server.access));
      await sleep(clock, SAMPLE_EVERY_MS);
    }
    return [judgeSkew(about, offset)];
  } catch (error) {
    return [note(about, `could not be compared with this machine's clock: ${messageOf(error)}`)];
  }
}

/** Renews a lease through this server until the bounds are close enough. */
export async function checkRate(
  { url, access }: ServerOf,
  renewal: RenewRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<Finding[]> {
  const about = `clocks of ${url}`;
  const bounds = new RateBounds();
  await using connection = await openTarget({ kind: "server", endpoints: [url], access });
  try {
    const startedMs = clock.monotonicMs();
    const isEnough = (elapsedMs: number): boolean =>
      elapsedMs > MAX_MEASURE_MS || (elapsedMs > MIN_MEASURE_MS && bounds.width < CLOSE_ENOUGH);
    while (!isEnough(clock.monotonicMs() - startedMs)) {
      const sentMs = clock.monotonicMs();
      const result = await connection.elector.renew(renewal, { signal });
      if (result.kind === "not-leader") return [note(about, "rate not measured: the doctor lost its term")];
      bounds.take({ sentMs, answeredMs: clock.monotonicMs(), serverMs: result.leader.expiresAtMs });
      await sleep(clock, SAMPLE_EVERY_MS, signal);
    }
    return [judgeRate(about, bounds)];
  } catch (error) {
    signal.throwIfAborted();
    return [note(about, `rate not measured: ${messageOf(error)}`)];
  }
}

export function judgeRate(about: string, { least, most }: Pick<RateBounds, "least" | "most">): Finding {
  const percent = (rate: number): string => `${rate < 1 ? "" : "+"}${((rate - 1) * 100).toFixed(2)} %`;
  const says = `the server's clock runs ${percent(least)} to ${percent(most)} relative to this machine's clock`;
  if (least > LARGEST_RATIO || most < 1 / LARGEST_RATIO) {
    const margin = `the safe limit is ${percent(LARGEST_RATIO)}`;
    const advice =
      "fix the clock that runs at the wrong rate, unless a clock was set during this check; until then two leaders may overlap";
    return wrong(about, `${says}; ${margin}`, advice);
  }
  // A wrong rate is possible within the bounds, but not shown by them: that is not reported as a problem.
  if (most > LARGEST_RATIO || least < 1 / LARGEST_RATIO) {
    return note(
      about,
      `${says}; the measurement is too coarse to judge`,
      "run doctor again while server and network are idle",
    );
  }
  return ok(about, says);
}

export function judgeSkew(about: string, offset: ClockOffset): Finding {
  const { offsetMs, errorMs } = offset;
  if (offsetMs === null) return note(about, "the server does not report its time");
  const ahead = offsetMs < 0 ? "behind" : "ahead of";
  const says = `its wall clock is ${tellDuration(Math.abs(offsetMs))} ${ahead} this machine's (± ${tellDuration(errorMs)})`;
  if (Math.abs(offsetMs) - errorMs <= SKEW_MS) return ok(about, says);
  const advice =
    "synchronise both clocks (NTP); elections are not affected, but times in events mislead, and signed mandates may be refused";
  return wrong(about, says, advice);
}
