import { InvalidRequestError } from "@tenure/core";

export interface CoordinatorEnvironment {
  readonly eligible: boolean;
  readonly takeoverDelayMs: number;
  readonly electionIntervalMs: number;
  /** The URL of a service (`TENURE_SERVER`) or a store (`TENURE_STORE`); `null` if neither is set. */
  readonly electorUrl: string | null;
}

export const DEFAULT_TAKEOVER_DELAY_MS = 1000;
export const DEFAULT_ELECTION_INTERVAL_MS = 5000;
export const MIN_ELECTION_INTERVAL_MS = 100;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads `COORDINATOR_ELIGIBLE`, `COORDINATOR_TAKEOVER_DELAY`, `COORDINATOR_ELECTION_INTERVAL`, and the elector's URL. */
export function readEnvironment(env: Environment): CoordinatorEnvironment {
  if (env["CLUSTER_COORDINATOR"] !== undefined) warnOfStaticSetting();
  const { TENURE_SERVER: server, TENURE_STORE: store } = env;
  if (server !== undefined && store !== undefined) {
    throw new InvalidRequestError(
      "TENURE_STORE",
      "is set in addition to TENURE_SERVER; set only one of them",
    );
  }
  return {
    eligible: readBoolean(env, "COORDINATOR_ELIGIBLE", true),
    takeoverDelayMs: readMs(env, "COORDINATOR_TAKEOVER_DELAY", 0, DEFAULT_TAKEOVER_DELAY_MS),
    electionIntervalMs: readMs(
      env,
      "COORDINATOR_ELECTION_INTERVAL",
      MIN_ELECTION_INTERVAL_MS,
      DEFAULT_ELECTION_INTERVAL_MS,
    ),
    electorUrl: server ?? store ?? null,
  };
}

let warned = false;

/** Warns once per process: the election alone determines the coordinator. */
export function warnOfStaticSetting(): void {
  if (warned) return;
  warned = true;
  process.emitWarning(
    "cluster_coordinator is ignored: the coordinator is elected. Remove it; COORDINATOR_ELIGIBLE=false keeps a node out.",
    { type: "DeprecationWarning", code: "TENURE_CLUSTER_COORDINATOR" },
  );
}

function readBoolean(env: Environment, name: string, byDefault: boolean): boolean {
  const text = env[name];
  if (text === undefined || text === "") return byDefault;
  if (/^(true|1|yes)$/i.test(text)) return true;
  if (/^(false|0|no)$/i.test(text)) return false;
  throw new InvalidRequestError(name, `is ${JSON.stringify(text)} and must be true or false`);
}

function readMs(env: Environment, name: string, min: number, byDefault: number): number {
  const text = env[name];
  if (text === undefined || text === "") return byDefault;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > 3_600_000) {
    throw new InvalidRequestError(
      name,
      `is ${JSON.stringify(text)} and must be ${min} to 3600000 milliseconds`,
    );
  }
  return value;
}
