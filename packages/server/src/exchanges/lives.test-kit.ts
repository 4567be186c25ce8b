/** The requests: valid ones and conflicts, held-back groups, waits, transfers and watches. */
import { type CallerName, type Json, type RecordedVerb, type Recorder, turn } from "./recorder.test-kit.js";
import { requestOf } from "./refusals.test-kit.js";

/** The life of some groups, from their first leader to their deletion. */
export async function lives(recorder: Recorder): Promise<void> {
  const ask = (as: CallerName, verb: RecordedVerb, request: Json = {}, headers?: Json) =>
    recorder.ask(as, verb, request, headers);
  const g = { group_id: "g/1" };
  const n1 = { ...g, node_id: "n1" };
  const n2 = { ...g, node_id: "n2" };
  await recorder.serve();
  for (const as of ["admin", "n1", "narrow", "watcher", "nobody", "forger"] as const) await ask(as, "whoami");
  await ask("nobody", "keys");
  await ask("n1", "leader", g);
  await ask("n1", "group", g);
  await ask("n1", "campaign", {
    ...n1,
    lease_ttl_ms: 5000,
    metadata: { zone: "a", nested: { deep: [1, null] } },
  });
  await ask("n1", "campaign", { ...n1, lease_ttl_ms: 5000, metadata: { zone: "b" } });
  await ask("n2", "campaign", { ...n2, lease_ttl_ms: 5000 });
  await ask("n2", "campaign", { ...n2, lease_ttl_ms: 5000 }, { prefer: "leader-metadata" });
  await ask("n1", "renew", { ...n1, term: 1, extend_by_ms: 6000 });
  await ask("n1", "renew", { ...n1, term: 1, extend_by_ms: 6000 }, { prefer: "leader-metadata" });
  await ask("n1", "renew", { ...n1, term: 2, extend_by_ms: 6000 });
  await ask("n1", "renew", { ...n1, term: 1, extend_by_ms: 6000, instance_start_uuid: "other" });
  await ask("n2", "renew", { ...n2, term: 1, extend_by_ms: 6000 });
  await ask("n1", "renew", { ...n1, term: 1, extend_by_ms: 60 });
  await ask("n1", "campaign", { ...n1, lease_ttl_ms: 60_001 });
  await ask("n1", "leader", g);
  await ask("n1", "leader", { ...g, consistency: "local" });
  await ask("n2", "resign", { ...n2, term: 1 });
  await ask("watcher", "heartbeat", { ...g, node_id: "watcher", metadata: { kind: "page" } });
  await ask("watcher", "heartbeat", { ...g, node_id: "n1" });
  await ask("n2", "heartbeat", { ...n2, ready: false });
  await ask("n1", "members", g);
  await ask("n1", "health", g);
  await ask("n1", "resign", { ...n1, term: 1 });
  await ask("n1", "resign", { ...n1, term: 1 });
  await ask("admin", "campaign", {
    ...n2,
    lease_ttl_ms: 5000,
    priority: 7,
    instance_start_uuid: "i2",
    ready: false,
  });
  await ask("n1", "history", g);
  await ask("n1", "group", g);
  await recorder.clock.advance(6000);
  await ask("n1", "samples");
  await ask("narrow", "samples");
  await ask("n1", "leader", g);
  await ask("n1", "history", g);
  await ask("n1", "health", g);
  await recorder.clock.advance(3000);
  for (const as of ["n1", "narrow"] as const) await ask(as, "attention");
  await batches(recorder);
  await operators(recorder);
  await heldBack(recorder);
  await waiting(recorder);
  await watches(recorder);
}

async function batches(recorder: Recorder): Promise<void> {
  const campaign = (group_id: string, node_id: string, more: Json = {}) => ({
    group_id,
    node_id,
    lease_ttl_ms: 5000,
    ...more,
  });
  const renewal = (group_id: string, node_id: string, more: Json = {}) => ({
    group_id,
    node_id,
    term: 1,
    extend_by_ms: 5000,
    ...more,
  });
  const metadata = { zone: "c" };
  await recorder.ask("n1", "campaignMany", {
    campaigns: [
      campaign("m1", "n1", { metadata }),
      campaign("m2", "n2"),
      campaign("m3", "n1", { lease_ttl_ms: 1 }),
    ],
  });
  const again = { campaigns: [campaign("m1", "n2"), campaign("m2", "n2", { priority: 1, ready: false })] };
  await recorder.ask("n2", "campaignMany", again, { prefer: "leader-metadata" });
  await recorder.ask("n2", "campaignMany", again);
  await recorder.ask("n1", "campaignMany", { campaigns: [campaign("m1", "n1"), campaign("m1", "n1")] });
  await recorder.ask("n1", "campaignMany", { campaigns: [] });
  const renewals = [
    renewal("m1", "n1"),
    renewal("m2", "n1"),
    renewal("m3", "n1"),
    renewal("m4", "n2"),
    renewal("m5", "n1", { extend_by_ms: 1 }),
  ];
  await recorder.ask("n1", "renewMany", { renewals });
  await recorder.ask("n1", "renewMany", { renewals }, { prefer: "leader-metadata" });
  await recorder.ask("n1", "renewMany", { renewals: [renewal("m1", "n1"), renewal("m1", "n1")] });
  await recorder.ask("n1", "renewMany", { renewals: [] });
}

async function operators(recorder: Recorder): Promise<void> {
  const { clock } = recorder;
  const ask = (as: CallerName, verb: RecordedVerb, request: Json = {}) => recorder.ask(as, verb, request);
  const policy = {
    min_ttl_ms: 1000,
    max_ttl_ms: 9000,
    takeover_delay_ms: 700,
    strategy: "priority",
    preempt: true,
  };
  await ask("admin", "createGroup", { group_id: "o1", policy, allowed_nodes: ["n1"] });
  await ask("admin", "createGroup", { group_id: "o1" });
  await ask("admin", "createGroup", { group_id: "o2" });
  await ask("admin", "createGroup", { group_id: "o3", policy: { min_ttl_ms: 9000, max_ttl_ms: 1000 } });
  await ask("admin", "createGroup", { group_id: "o3", policy: { retry: { initial_ms: 10, max_ms: 1 } } });
  await ask("n1", "campaign", { group_id: "o1", node_id: "n1", lease_ttl_ms: 900 });
  await ask("n1", "campaign", { group_id: "o1", node_id: "n1", lease_ttl_ms: 2000 });
  await ask("n2", "campaign", { group_id: "o1", node_id: "n2", lease_ttl_ms: 2000 });
  await ask("n1", "group", { group_id: "o1" });
  await ask("admin", "updateGroup", {
    group_id: "o1",
    policy: { preempt: false, retry: { jitter: 0.25 } },
    reason: "because",
  });
  await ask("admin", "updateGroup", { group_id: "o1", allowed_nodes: ["n2"] });
  await ask("admin", "updateGroup", { group_id: "never", policy: {} });
  await ask("n1", "renew", { group_id: "o1", node_id: "n1", term: 1, extend_by_ms: 2000 });
  await ask("n1", "groups");
  await ask("n1", "groups", { prefix: "o" });
  await ask("n1", "groups", { limit: 2 });
  await ask("n1", "groups", { limit: 2, cursor: "m1" });
  await ask("narrow", "groups");
  await ask("admin", "deleteGroup", { group_id: "o1" });
  await ask("admin", "deleteGroup", { group_id: "o1", force: true });
  await ask("admin", "deleteGroup", { group_id: "o1" });
  await ask("n1", "group", { group_id: "o1" });
  await ask("n1", "history", { group_id: "o1" });
  await ask("n1", "heartbeat", { group_id: "never", node_id: "n1" });
  await ask("n1", "members", { group_id: "never" });
  await ask("n1", "health", { group_id: "never" });
  await ask("n1", "history", { group_id: "never" });
  await ask("n1", "resign", { group_id: "never", node_id: "n1", term: 1 });
  await ask("n1", "renew", { group_id: "never", node_id: "n1", term: 1, extend_by_ms: 5000 });
  for (const verb of ["stepDown", "transfer", "pause", "resume", "deleteGroup"] as const)
    await ask("admin", verb, requestOf(verb, `fresh-${verb}`));
  await clock.advance(10);
}

async function heldBack(recorder: Recorder): Promise<void> {
  const ask = (as: CallerName, verb: RecordedVerb, request: Json = {}) => recorder.ask(as, verb, request);
  const h = { group_id: "held" };
  const campaign = (node_id: string) =>
    ask(node_id as CallerName, "campaign", { ...h, node_id, lease_ttl_ms: 2000 });
  const look = async () => {
    await campaign("n2");
    await ask("n1", "leader", h);
    await ask("n1", "group", h);
  };
  await campaign("n1");
  await ask("admin", "stepDown", { ...h, reason: "because", ban_ms: 5000 });
  await look();
  await ask("n1", "renew", { ...h, node_id: "n1", term: 1, extend_by_ms: 2000 });
  await campaign("n1");
  await ask("n1", "resign", { ...h, node_id: "n1", term: 1 });
  await campaign("n1");
  await ask("admin", "stepDown", { ...h, reason: "because", force: true });
  await ask("admin", "pause", { ...h, for_ms: 3000 });
  await look();
  await ask("admin", "resume", h);
  await ask("admin", "pause", h);
  await look();
  await ask("admin", "resume", { ...h, reason: "because" });
  await ask("admin", "updateGroup", { ...h, policy: { takeover_delay_ms: 4000 } });
  await campaign("n2");
  await recorder.clock.advance(2100);
  await look();
  await ask("n1", "history", h);
  await ask("n1", "audit", { limit: 3 });
  await ask("n1", "audit", { ...h, by: "nobody" });
}

/** Waiting campaigns: to the end of the wait, and until a transfer. */
async function waiting(recorder: Recorder): Promise<void> {
  const { clock } = recorder;
  const w = { group_id: "w" };
  const ask = (as: CallerName, verb: RecordedVerb, request: Json = {}) => recorder.ask(as, verb, request);
  /** Only reads: a write would count in the cursors of later watches. */
  const until = async (verb: RecordedVerb, isSo: (answer: Json) => boolean) => {
    const noted = recorder.exchanges.length;
    for (;;) {
      const answer = await ask("admin", verb, w);
      recorder.exchanges.length = noted;
      if (isSo(answer)) return;
      await turn();
    }
  };
  const isWaiting = () =>
    until("members", ({ members }) => (members as readonly Json[]).some(({ node_id }) => node_id === "n2"));
  await ask("n1", "campaign", { ...w, node_id: "n1", lease_ttl_ms: 10_000 });
  const lost = ask("n2", "campaign", { ...w, node_id: "n2", lease_ttl_ms: 10_000, wait_ms: 2000 });
  await isWaiting();
  await clock.advance(2000);
  await lost;
  await clock.advance(40_000);
  await ask("n1", "campaign", { ...w, node_id: "n1", lease_ttl_ms: 10_000 });
  await ask("admin", "transfer", { ...w, to_node_id: "n2" });
  await ask("admin", "transfer", w);
  const won = ask("n2", "campaign", {
    ...w,
    node_id: "n2",
    lease_ttl_ms: 10_000,
    wait_ms: 5000,
    metadata: { zone: "d" },
  });
  await isWaiting();
  await clock.advance(300);
  const transferred = ask("admin", "transfer", { ...w, to_node_id: "n2", timeout_ms: 4000 });
  await until("history", ({ acts }) => (acts as readonly Json[]).length > 0);
  await ask("n1", "renew", { ...w, node_id: "n1", term: 2, extend_by_ms: 10_000 });
  await ask("n1", "resign", { ...w, node_id: "n1", term: 2 });
  await won;
  await transferred;
  // The three are answered at the same time, in any order.
  recorder.exchanges.splice(
    -3,
    3,
    ...recorder.exchanges.slice(-3).toSorted((a, b) => (a.ask < b.ask ? -1 : 1)),
  );
  await ask("n1", "history", w);
}

async function watches(recorder: Recorder): Promise<void> {
  await recorder.stream("n1", "watch", { group_id: "held" }, 1);
  await recorder.stream("n1", "watch", { group_id: "held", cursor: "2" }, 2);
  await recorder.stream("n1", "watch", { group_id: "held", cursor: "x" }, 0);
  await recorder.stream("narrow", "watch", { group_id: "held" }, 0);
  await recorder.stream("nobody", "watch", { group_id: "held" }, 0);
  await recorder.stream("n1", "watch", { group_id: "never" }, 1);
  await recorder.stream("n1", "watchAll", {}, 1);
  await recorder.stream("n1", "watchAll", { cursor: "1@.." }, 0);
  await recorder.stream(
    "n1",
    "watchMany",
    { watches: [{ group_id: "held", cursor: 3 }, { group_id: "w" }] },
    2,
  );
  await recorder.stream("narrow", "watchMany", { watches: [{ group_id: "w" }, { group_id: "own/1" }] }, 2);
  await recorder.stream("n1", "watchMany", { watches: [{ group_id: "w" }, { group_id: "w" }] }, 0);
  await recorder.stream("n1", "watchMany", { watches: [] }, 0);
  await recorder.raw("n1", "GET /v1/groups/held/watch");
  await recorder.raw("n1", "GET /v1/groups/held/watch?cursor=2");
  await recorder.raw("n1", "GET /v1/groups/held/watch?cursor=4&timeout_ms=0");
  for (const query of [
    "timeout_ms=x",
    "timeout_ms=60001",
    "keep_alive_ms=1",
    "keep_alive_ms=x",
    "cursor=x",
    "other=1",
  ])
    await recorder.raw("n1", `GET /v1/groups/held/watch?${query}`);
  await recorder.raw("n1", "GET /v1/watch?cursor=1!..");
  await recorder.raw("n1", "POST /v1/watch", { watches: [{ group_id: "w" }] });
}
