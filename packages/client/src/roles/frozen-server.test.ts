/** What a role manager over HTTP does about a server that is connected and says nothing any more. */
import { expect, test } from "vitest";
import { type Asked, FROZEN, ok, ScriptedCarrier } from "../http/scripted-carrier.test-kit.js";
import { RoleManager } from "./role-manager.js";

const TTL_MS = 2000;

/** An event of group `r0`, which node `a` led in term 1. */
function event(number: number, leaderId: string | null): string {
  const type = leaderId === null ? "LEADER_LOST" : "LEADER_CHANGED";
  const reason = leaderId === null ? "expired" : "none";
  const state = { type, term: 1, leader_node_id: leaderId, previous_leader_node_id: "a", reason };
  return `data: ${JSON.stringify({ group_id: "r0", number, ts_ms: 0, ...state })}\n\n`;
}

/** A stream that goes on with a sign of life every `keep_alive_ms`, 15 s where the request has none. */
function streaming(carrier: () => ScriptedCarrier, first: string) {
  return ({ body }: Asked, say: (text: string) => void) => {
    say(first);
    const { clock } = carrier();
    const everyMs = Number(body["keep_alive_ms"] ?? 15_000);
    const goOn = () => {
      say(":\n\n");
      clock.after(everyMs, goOn);
    };
    clock.after(everyMs, goOn);
  };
}

test("a role manager whose server freezes learns from another server that a role is vacant, and leads it", async () => {
  const leader = { node_id: "b", term: 2, lease_expires_at_ms: 0 };
  const carrier: ScriptedCarrier = new ScriptedCarrier({
    one: { stream: streaming(() => carrier, event(1, "a")) },
    other: {
      stream: streaming(() => carrier, event(2, null)),
      answer: ({ path }) => ok(path.endsWith("/campaign") ? { is_leader: true, leader } : { ok: true }),
    },
  });
  const { clock } = carrier;
  const manager = new RoleManager(await carrier.elector(), {
    nodeId: "b",
    ttlMs: TTL_MS,
    clock,
    random: () => 0.5,
  });
  manager.add("r0");
  void manager.start();
  await clock.advance(60_000);
  expect(carrier.asked.map(({ server }) => server)).toEqual(["one"]);
  expect(manager.led()).toEqual([]);
  carrier.servers["one"] = FROZEN;
  carrier.silence("one");
  // The watch leaves a server that was silent for 2.5 s, the least that it may be asked to bear.
  await clock.advance(2600);
  expect(manager.led()).toEqual(["r0"]);
});
