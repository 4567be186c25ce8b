/** What happens to a decision requested from a server that does not lead. */
import { onAbort } from "@tenure/core/internal";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PeerEvent } from "../protocol/peer-events.js";
import { Callers } from "./callers.js";
import { decisionRoutes, type DecisionRouteParts } from "./decision-routes.js";
import { named } from "./node.test-kit.js";
import type { Call, CallAnswer } from "./peer-calls.js";
import { tellWireErrors } from "./route.js";

const LEADER = "https://leader:1";
const DECIDE = { txn_id: "t", decision: "commit", tc_term: 7 };

describe("decide at a server that does not lead", () => {
  let app: FastifyInstance;
  let observed: string | null;
  let answer: CallAnswer | Error | "never";
  let term: number;
  let listeners: Set<(event: PeerEvent) => void>;
  let forwarded: (Call & { readonly to: string })[];
  beforeEach(() => {
    app = Fastify();
    observed = LEADER;
    forwarded = [];
    term = 1;
    listeners = new Set();
    answer = { status: 200, body: { txn_id: "t" }, identity: "leader" };
    const peer = {
      leading: () => null,
      observedLeader: () => (observed === null ? null : { leaderEndpoint: observed, term }),
      on: (listener: (event: PeerEvent) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    tellWireErrors(app);
    const parts: Partial<DecisionRouteParts> = {
      disk: "d",
      endpoint: "https://self:1",
      callers: new Callers(() => named("tc/clerk")),
      peer: () => peer as unknown as ReturnType<DecisionRouteParts["peer"]>,
      forward: async (to, call) => {
        forwarded.push({ ...call, to });
        if (answer instanceof Error) throw answer;
        if (answer === "never")
          return new Promise((_, reject) => onAbort(call.signal, () => reject(call.signal?.reason as Error)));
        return answer;
      },
    };
    decisionRoutes(app, parts as DecisionRouteParts);
  });
  afterEach(() => app.close());

  const decide = async (headers: Readonly<Record<string, string>> = {}) => {
    const response = await app.inject({ method: "POST", url: "/v1/tc/decide", payload: DECIDE, headers });
    return { status: response.statusCode, body: response.json<unknown>() };
  };

  it("a server that does not lead forwards decide unchanged and marked, and returns the leader's answer", async () => {
    expect(await decide()).toEqual({ status: 200, body: { txn_id: "t" } });
    expect(forwarded).toEqual([
      {
        to: LEADER,
        method: "POST",
        path: "/v1/tc/decide",
        body: DECIDE,
        headers: { "x-tenure-tc-forwarded": "1" },
        signal: expect.any(AbortSignal) as AbortSignal,
      },
    ]);
    answer = { status: 409, body: { error: "txn_conflict" }, identity: "leader" };
    expect(await decide()).toEqual({ status: 409, body: { error: "txn_conflict" } });
    await app.inject({ method: "GET", url: "/v1/tc/decisions/a%2Fb" });
    expect(forwarded.at(-1)).toMatchObject({ method: "GET", path: "/v1/tc/decisions/a%2Fb" });
  });

  it("a server that does not lead names the leader that cannot be reached", async () => {
    answer = new Error("connection refused");
    expect(await decide()).toMatchObject({
      status: 409,
      body: { error: "tc_not_leader", leader_endpoint: LEADER },
    });
  });

  it("a server does not wait for a leader that hangs once another one leads, and names the new one", async () => {
    answer = "never";
    const asked = decide();
    while (listeners.size === 0) await new Promise((resolve) => setImmediate(resolve));
    const tell = (leaderEndpoint: string, of: number): void => {
      [observed, term] = [leaderEndpoint, of];
      const leader = { leaderId: "n", leaderEndpoint, term };
      for (const listener of listeners) listener({ kind: "observed", leader, released: false });
    };
    // The same leader again is not a reason to give up.
    tell(LEADER, 1);
    tell("https://next:1", 2);
    expect(await asked).toMatchObject({
      status: 409,
      body: { error: "tc_not_leader", leader_endpoint: "https://next:1" },
    });
    expect(listeners.size).toBe(0);
  });

  it("a server does not forward a request that was forwarded to it", async () => {
    expect(await decide({ "x-tenure-tc-forwarded": "1" })).toMatchObject({
      status: 409,
      body: { error: "tc_not_leader", leader_endpoint: LEADER },
    });
    expect(forwarded).toEqual([]);
  });

  it.each([null, "https://self:1"])(
    "a server is unavailable while it observes %s as the leader",
    async (leader) => {
      observed = leader;
      expect(await decide()).toMatchObject({ status: 503, body: { error: "tc_unavailable" } });
      expect(forwarded).toEqual([]);
    },
  );
});
