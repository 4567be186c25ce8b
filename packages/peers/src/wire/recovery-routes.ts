/** `POST /v1/tc/cluster/recover`: sent to a server with its own certificate, like a leave. */
import { connect } from "node:net";
import { onAbort } from "@tenure/core/internal";
import type { FastifyInstance } from "fastify";
import { type Recovery, type RecoveryPlan, RecoveryRefusedError } from "../recovery/recovery.js";
import { Body } from "./body.js";
import type { Callers } from "./callers.js";
import type { NodeLog } from "./peer-log.js";
import { OWN_IDENTITY } from "./route.js";
import { WireError } from "./wire-error.js";

export interface RecoveryRouteParts {
  readonly identity: string;
  readonly callers: Callers;
  readonly recovery: () => Recovery;
  readonly log: NodeLog;
}

/** One recovery at a time: the votes of the first would refuse a second, with an unhelpful reason. */
export function recoveryRoutes(app: FastifyInstance, parts: RecoveryRouteParts): void {
  const { identity, callers, recovery, log } = parts;
  let isRunning = false;

  app.post("/v1/tc/cluster/recover", OWN_IDENTITY, async ({ raw, body: given }) => {
    callers.self(raw.socket, identity);
    const body = new Body(given, ["lost", "confirm"]);
    const lost = listIn(body);
    if (isRunning) throw new WireError("tc_recovery_refused", "another recovery is under way at this server");
    isRunning = true;
    try {
      const plan = await recovery().plan(lost);
      if (!body.has("confirm")) return { recovered: false, ...shown(plan) };
      if (body.text("confirm") !== plan.before.cluster) {
        throw new WireError(
          "tc_recovery_refused",
          `confirm must be the id of the cluster, ${plan.before.cluster}`,
        );
      }
      log.warn(fieldsOf(plan), "recovery from a lost majority began at an operator's request");
      await recovery().carryOut(plan);
      log.warn(
        fieldsOf(plan),
        "this server is the only elector after a recovery; the lost electors must never run over their disks again",
      );
      return { recovered: true, ...shown(plan) };
    } catch (error) {
      if (!(error instanceof RecoveryRefusedError)) throw error;
      log.warn({ lost }, `recovery from a lost majority was refused: ${error.message}`);
      throw new WireError("tc_recovery_refused", error.message, {}, { cause: error });
    } finally {
      isRunning = false;
    }
  });
}

/**
 * Whether anything accepts connections there. It does not check for an answer: a suspended process does not answer, but
 * continues where it was when it resumes.
 */
export function probeConnection(endpoint: string, signal: AbortSignal): Promise<string | null> {
  const { hostname, port, protocol } = new URL(endpoint);
  const host = hostname.replaceAll(/[[\]]/g, "");
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port === "" ? (protocol === "https:" ? 443 : 80) : port) });
    const settle = (answer: string | null): void => {
      stopListening();
      socket.destroy();
      resolve(answer);
    };
    const stopListening = onAbort(signal, () => settle(null));
    socket.once("connect", () => settle("something accepts connections there; shut it down first"));
    socket.once("error", () => settle(null));
  });
}

function listIn(body: Body): readonly string[] {
  const lost = body.required("lost");
  if (!Array.isArray(lost) || lost.length === 0 || !lost.every((each) => typeof each === "string")) {
    throw new WireError("invalid_body", "lost must be a list of node ids, at least one");
  }
  return [...new Set(lost)];
}

function fieldsOf({ before, after, lost, survivors }: RecoveryPlan): object {
  const epoch = ({ epoch: { term, n } }: RecoveryPlan["before"]): readonly number[] => [term, n];
  const electors = Object.keys(before.members).toSorted();
  return {
    cluster: before.cluster,
    electors,
    lost,
    survivors,
    epoch: epoch(before),
    new_epoch: epoch(after),
  };
}

function shown(plan: RecoveryPlan): object {
  return { ...fieldsOf(plan), new_electors: Object.keys(plan.after.members) };
}
