import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Decider, Settled } from "../decisions/decider.js";
import { type Decision, DECISIONS } from "../decisions/decision.js";
import type { DecisionLog, Promised } from "../decisions/decision-log.js";
import type { ResourceManager } from "../decisions/resource-manager.js";
import type { Peer } from "../protocol/peer.js";
import { Body } from "./body.js";
import type { Callers } from "./callers.js";
import { decodeHeld, encodeHeld } from "./decision-codec.js";
import type { Offices } from "./offices.js";
import type { Call, CallAnswer } from "./peer-calls.js";
import { isMarked, OWN_IDENTITY } from "./route.js";
import { WireError } from "./wire-error.js";

export interface DecisionRouteParts {
  readonly disk: string;
  readonly endpoint: string;
  readonly callers: Callers;
  readonly offices: Offices;
  readonly peer: () => Peer;
  readonly decider: Decider;
  readonly log: DecisionLog;
  readonly resourceManager: ResourceManager;
  /** With a time limit. */
  readonly forward: (endpoint: string, call: Call) => Promise<CallAnswer>;
}

/** Forwarded once: two servers that take each other for the leader must not loop. */
const FORWARDED = "x-tenure-tc-forwarded";

export function decisionRoutes(app: FastifyInstance, parts: DecisionRouteParts): void {
  const { callers, peer, decider } = parts;

  app.post("/v1/tc/decide", OWN_IDENTITY, async (request, reply) => {
    callers.client(request.raw.socket);
    const body = new Body(request.body, ["txn_id", "decision", "tc_term"]);
    const txnId = body.id("txn_id");
    const decision = body.choice("decision", DECISIONS);
    const asked = body.has("tc_term") ? body.term("tc_term") : null;
    const leading = peer().leading();
    if (leading === null) {
      return forwarded(parts, request, reply, { method: "POST", path: "/v1/tc/decide", body: request.body });
    }
    const { term } = leading;
    if (asked !== null && asked < term) {
      throw new WireError("tc_term_stale", `term ${asked} is over, this is ${term}`, { tc_term: term });
    }
    if (asked !== null && asked > term) {
      throw new WireError(
        "tc_not_leader",
        `this server leads term ${term}, and term ${asked} is unknown to it`,
      );
    }
    const { decision: final, pending } = finalOf(await decider.settle(txnId, decision, term), txnId);
    if (final !== decision) {
      throw new WireError("txn_conflict", `${txnId} was decided before: ${final}`, { decision: final });
    }
    return { txn_id: txnId, decision, tc_term: term, pending };
  });

  app.get("/v1/tc/decisions/:txn_id", OWN_IDENTITY, async (request, reply) => {
    callers.client(request.raw.socket);
    const txnId = new Body(request.params, ["txn_id"]).id("txn_id");
    const leading = peer().leading();
    if (leading === null) {
      const path = `/v1/tc/decisions/${encodeURIComponent(txnId)}`;
      return forwarded(parts, request, reply, { method: "GET", path });
    }
    const { decision, pending } = finalOf(await decider.settle(txnId, null, leading.term), txnId);
    return { txn_id: txnId, decision, tc_term: leading.term, pending };
  });

  electorRoutes(app, parts);
}

/** The requests of a coordinator to the electors and the resource managers. */
function electorRoutes(app: FastifyInstance, parts: DecisionRouteParts): void {
  const { callers, offices, log, resourceManager, disk } = parts;
  /** The fields of a coordinator's request and its term, after the caller was identified as the coordinator. */
  const asCoordinator = (
    { raw, body: given }: FastifyRequest,
    fields: readonly string[],
  ): { readonly body: Body; readonly term: number } => {
    // A stranger must not learn what is wrong with its body.
    callers.server(raw.socket);
    const body = new Body(given, ["cluster", "tc_term", ...fields]);
    if (!body.has("tc_term"))
      throw new WireError("tc_term_required", "tc_term is missing; it fences old coordinators");
    const term = body.term("tc_term");
    offices.coordinator(raw.socket, body.text("cluster"), term);
    return { body, term };
  };
  const shown = (promised: Promised): object => {
    if (promised.kind === "stale") throw stale(promised.term, { disk });
    return { held: promised.held === null ? null : encodeHeld(promised.held), disk };
  };

  app.post("/v1/tc/decisions/prepare", OWN_IDENTITY, async (request) => {
    const { body, term } = asCoordinator(request, ["txn_id"]);
    return shown(await log.prepare(body.id("txn_id"), term));
  });

  app.post("/v1/tc/decisions/remember", OWN_IDENTITY, async (request) => {
    const { body, term } = asCoordinator(request, ["txn_id", "decision"]);
    const decision = body.choice("decision", DECISIONS);
    return shown(await log.remember({ txnId: body.id("txn_id"), decision, term }));
  });

  app.post("/v1/tc/decisions/held", OWN_IDENTITY, async (request) => {
    const { body, term } = asCoordinator(request, ["which", "after"]);
    const after = body.has("after") && body.required("after") !== "" ? body.id("after") : "";
    const page = await log.page(term, body.choice("which", ["all", "open"]), after);
    if (page.kind === "stale") throw stale(page.term, { disk });
    return { decisions: page.decisions.map(encodeHeld), next: page.next, disk };
  });

  app.post("/v1/tc/decisions/tell", OWN_IDENTITY, async (request) => {
    const decisions = asCoordinator(request, ["decisions"]).body.required("decisions");
    if (!Array.isArray(decisions)) throw new WireError("invalid_body", "decisions must be a list");
    await log.take(decisions.map(decodeHeld).filter(({ isFinal }) => isFinal));
    return { disk };
  });

  app.post("/v1/rm/apply", OWN_IDENTITY, async (request) => {
    const { body, term } = asCoordinator(request, ["txn_id", "decision"]);
    const decision = body.choice("decision", DECISIONS);
    const asked = { txnId: body.id("txn_id"), decision, term };
    const applied = await resourceManager.apply(asked).catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new WireError(
        "tc_rm_unavailable",
        `the decision could not be applied now (${why}); retry later`,
        {},
        { cause },
      );
    });
    switch (applied.kind) {
      case "applied":
        return { applied: true, changed: applied.changed };
      case "stale":
        throw stale(applied.term);
      case "conflict":
        throw new WireError("txn_conflict", `${asked.txnId} was applied before: ${applied.decision}`, {
          decision: applied.decision,
        });
    }
  });
}

/** The leader's own answer, whatever it is. Given up when another leader is observed, which is then named. */
async function forwarded(
  { peer, endpoint, forward }: DecisionRouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  call: Call,
): Promise<FastifyReply> {
  const leader = peer().observedLeader();
  if (leader === null || leader.leaderEndpoint === endpoint) {
    throw new WireError("tc_unavailable", "there is no coordinator at the moment; retry later");
  }
  const { leaderEndpoint } = leader;
  const known = { leader_endpoint: leaderEndpoint };
  if (isMarked(request, FORWARDED)) {
    throw new WireError(
      "tc_not_leader",
      `this server does not lead; ${leaderEndpoint} does, as far as it knows`,
      known,
    );
  }
  const replaced = new AbortController();
  const stopWatching = peer().on((event) => {
    const next = event.kind === "observed" ? event.leader : null;
    if (next !== null && next.term > leader.term)
      replaced.abort(new Error(`${next.leaderEndpoint} leads now`));
  });
  try {
    const marked = { ...call, headers: { [FORWARDED]: "1" }, signal: replaced.signal };
    const { status, body } = await forward(leaderEndpoint, marked);
    return await reply.code(status).send(body);
  } catch (cause) {
    const next = peer().observedLeader()?.leaderEndpoint ?? leaderEndpoint;
    const detail = `this server does not lead, and ${leaderEndpoint}, which did, cannot be reached`;
    const hint = next === leaderEndpoint ? "" : `; ${next} leads now: send the request there`;
    throw new WireError("tc_not_leader", detail + hint, { leader_endpoint: next }, { cause });
  } finally {
    stopWatching();
  }
}

function finalOf(settled: Settled, txnId: string): { decision: Decision; pending: readonly string[] } {
  switch (settled.kind) {
    case "final":
      return settled;
    case "undecided":
      throw new WireError("txn_unknown", `transaction ${txnId} is not decided`);
    case "stale":
      throw stale(settled.term);
    case "no-majority":
      throw new WireError(
        "tc_unavailable",
        `no majority of the electorate has answered, so it is not known whether ${txnId} is decided; retry later`,
      );
  }
}

function stale(term: number, extra: object = {}): WireError {
  return new WireError("tc_term_stale", `a newer coordinator has term ${term}`, { tc_term: term, ...extra });
}
