/** The requests: every verb by every caller, with every mistake, and wherever the service must refuse. */
import { type Json, type RecordedVerb, RECORDED_VERBS, type Recorder } from "./recorder.test-kit.js";

/** A valid request for each verb. `group_id` is added. */
const GOOD: Readonly<Record<RecordedVerb, Json>> = {
  campaign: {
    node_id: "n1",
    lease_ttl_ms: 5000,
    metadata: { zone: "a" },
    instance_start_uuid: "i1",
    priority: 3,
    ready: true,
    wait_ms: 0,
  },
  campaignMany: { campaigns: [{ group_id: "many", node_id: "n1", lease_ttl_ms: 5000 }] },
  renew: { node_id: "n1", term: 1, extend_by_ms: 5000, instance_start_uuid: "i1" },
  renewMany: { renewals: [{ group_id: "many", node_id: "n1", term: 1, extend_by_ms: 5000 }] },
  resign: { node_id: "n1", term: 1, instance_start_uuid: "i1" },
  leader: { consistency: "local" },
  createGroup: {
    policy: { min_ttl_ms: 1000, max_ttl_ms: 9000, retry: { jitter: 0.5 } },
    allowed_nodes: ["n1"],
    reason: "because",
  },
  groups: { prefix: "g", limit: 5, cursor: "g" },
  group: {},
  updateGroup: { policy: { strategy: "priority", preempt: true }, reason: "because" },
  deleteGroup: { force: true, reason: "because" },
  members: {},
  health: {},
  heartbeat: { node_id: "n1", metadata: {}, ready: true },
  stepDown: { reason: "because", ban_ms: 1000, force: true },
  transfer: { to_node_id: "n2", timeout_ms: 100, reason: "because", allow_cold: true },
  pause: { for_ms: 1000, reason: "because", create: true },
  resume: { reason: "because" },
  history: {},
  audit: { group_id: "g", by: "admin", limit: 5, cursor: "1-1-g" },
  attention: {},
  whoami: {},
  server: {},
  // Later than every sample: the script of callers takes some while it runs.
  samples: { since_ms: Number.MAX_SAFE_INTEGER },
  keys: {},
};

const WITHOUT_GROUP: ReadonlySet<RecordedVerb> = new Set([
  "campaignMany",
  "renewMany",
  "groups",
  "audit",
  "attention",
  "whoami",
  "server",
  "samples",
  "keys",
]);

export function requestOf(verb: RecordedVerb, groupId: string): Json {
  return WITHOUT_GROUP.has(verb) ? GOOD[verb] : { group_id: groupId, ...GOOD[verb] };
}

/** Each verb as each caller, in unknown groups. */
export async function callers(recorder: Recorder): Promise<void> {
  await recorder.serve();
  for (const as of ["nobody", "forger", "narrow", "watcher", "n1", "n2", "admin"] as const)
    for (const verb of RECORDED_VERBS) await recorder.ask(as, verb, requestOf(verb, `for-${verb}`));
}

/** Each verb with each field left out, and with wrong values in it. */
export async function mistakes(recorder: Recorder): Promise<void> {
  await recorder.serve();
  for (const verb of RECORDED_VERBS) {
    const good = requestOf(verb, "bad");
    for (const request of mistaken(good, recorder.transport)) await recorder.ask("admin", verb, request);
  }
  for (const id of ["..", "a b", "x".repeat(201)]) {
    await recorder.ask("admin", "leader", { group_id: id });
    await recorder.ask("admin", "campaign", { group_id: "bad", node_id: id, lease_ttl_ms: 5000 });
    await recorder.ask("admin", "transfer", { group_id: "bad", to_node_id: id });
    await recorder.ask("admin", "createGroup", { group_id: "bad", allowed_nodes: ["n1", id] });
    await recorder.ask("admin", "renewMany", {
      renewals: [{ group_id: id, node_id: "n1", term: 1, extend_by_ms: 5000 }],
    });
  }
  const metadata = { text: "x".repeat(5000) };
  await recorder.ask("admin", "campaign", { group_id: "bad", node_id: "n1", lease_ttl_ms: 5000, metadata });
  await recorder.ask("admin", "heartbeat", { group_id: "bad", node_id: "n1", metadata });
  const large = JSON.stringify({ text: "x".repeat(65_536) });
  await recorder.raw("admin", "POST /v1/groups/bad/campaign", large);
  await recorder.raw("admin", "POST /v1/groups/bad/campaign", "{");
  await recorder.raw("admin", "POST /v1/groups/bad/campaign", '{"__proto__":{}}');
  await recorder.raw("admin", "POST /v1/groups/bad/campaign", "text", { "content-type": "text/plain" });
  await recorder.raw("admin", "POST /v1/groups/bad/campaign");
  for (const verb of ["pause", "resume"]) {
    await recorder.raw("admin", `POST /v1/groups/bad/${verb}`);
    await recorder.raw("admin", `POST /v1/groups/bad/${verb}`, "null");
    await recorder.raw("admin", `POST /v1/groups/bad/${verb}`, []);
  }
  for (const ask of [
    "POST /v1/groups/bad/campaign?x=1",
    "GET /v1/groups/bad/leader?consistency=other",
    "GET /v1/groups/bad/leader?x=1",
    "DELETE /v1/groups/bad?force=yes",
    "GET /v1/groups?limit=x",
    "GET /v1/groups?limit=0",
    "GET /v1/groups?limit=1001",
    "GET /v1/groups?x=1",
    "GET /v1/whoami?x=1",
    "GET /v1/groups/%zz/leader",
    "GET /v1/none",
    "PUT /v1/groups/bad",
    "GET /healthz",
    "GET /readyz",
  ])
    await recorder.raw("admin", ask);
}

function mistaken(good: Json, transport: Recorder["transport"]): readonly Json[] {
  const found: Json[] = transport === "http" ? [{ ...good, unknown: 1 }] : [];
  for (const [key, value] of Object.entries(good)) {
    if (key === "group_id") continue;
    const { [key]: _, ...without } = good;
    found.push(without);
    if (typeof value === "number") found.push({ ...good, [key]: -1 });
    if (typeof value === "string") found.push({ ...good, [key]: "" }, { ...good, [key]: "a b" });
    if (transport === "grpc") continue;
    for (const wrong of [null, [{}], "text", 1.5, true]) found.push({ ...good, [key]: wrong });
    const nested: unknown = Array.isArray(value) ? value[0] : value;
    if (typeof nested !== "object" || nested === null || key === "metadata") continue;
    for (const inner of mistaken(nested as Json, transport))
      found.push({ ...good, [key]: Array.isArray(value) ? [inner] : inner });
  }
  return found;
}

/** Groups that must be created first; limits; a store that does not answer. */
export async function refusals(recorder: Recorder): Promise<void> {
  await recorder.serve({ explicitGroups: true });
  for (const verb of RECORDED_VERBS) await recorder.ask("admin", verb, requestOf(verb, `unknown-${verb}`));
  await recorder.stream("admin", "watch", { group_id: "unknown" }, 0);
  await recorder.serve({ maxGroups: 1, maxWatches: 1 });
  await recorder.ask("n1", "campaign", { group_id: "first", node_id: "n1", lease_ttl_ms: 5000 });
  await recorder.ask("n1", "campaign", { group_id: "second", node_id: "n1", lease_ttl_ms: 5000 });
  await recorder.ask("admin", "createGroup", { group_id: "second" });
  await recorder.stream("n1", "watchMany", { watches: [{ group_id: "first" }, { group_id: "own" }] }, 0);
  await recorder.serve({ rateLimit: 1 });
  for (let i = 0; i < 3; i++)
    await recorder.whileTimePasses(recorder.ask("n1", "leader", { group_id: "g" }), 20);
  await recorder.serve();
  await recorder.ask("n1", "campaign", { group_id: "g", node_id: "n1", lease_ttl_ms: 5000 });
  recorder.loseStore();
  for (const verb of RECORDED_VERBS) {
    // The server answers this itself; since when the store is away differs in each run.
    if (verb === "attention") continue;
    // From memory the leader could still be read, with an age that differs in each run.
    const request = verb === "leader" ? { group_id: "g" } : requestOf(verb, "g");
    await recorder.whileTimePasses(recorder.ask("admin", verb, request));
  }
  await recorder.whileTimePasses(recorder.raw("admin", "GET /readyz"));
  await recorder.whileTimePasses(recorder.raw("admin", "GET /healthz"));
}
