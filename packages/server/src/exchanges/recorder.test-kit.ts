/**
 * Drives a service over HTTP or gRPC and records each exchange: the caller and request, and the status, codes, keys and
 * values of the answer. Time is virtual, so that every number is the same in each run. Human-readable texts and random
 * values are replaced.
 */
import { credentials } from "@grpc/grpc-js";
import type { StreamVerb, UnaryVerb } from "@tenure/api";
import { MemoryStore, type Store } from "@tenure/core";
import { type FaultPlan, FaultyStore, noFaults, Random, VirtualClock } from "@tenure/core/testing";
import { cleanUp, closing, jwks, temporaryFile, testKey, token } from "../auth/auth.test-kit.js";
import { GrpcClient } from "../grpc/grpc.test-kit.js";
import { ADMIN_TOKEN, Client, serve } from "../http/service.test-kit.js";
import type { TenureServerOptions } from "../options.js";

export type Json = Readonly<Record<string, unknown>>;

export interface Exchange {
  readonly as: string;
  readonly ask: string;
  readonly body?: unknown;
  readonly status: number | string;
  readonly headers?: Json;
  readonly answer: unknown;
}

type Route = readonly [route: string, rpc: string];

/** Every verb with its route and its rpc. Written out here, because the service is compared with it; a verb that is missing does not compile. */
const ROUTES = {
  campaign: ["POST /v1/groups/{group_id}/campaign", "Election/Campaign"],
  campaignMany: ["POST /v1/campaign", "Election/CampaignMany"],
  renew: ["POST /v1/groups/{group_id}/renew", "Election/Renew"],
  renewMany: ["POST /v1/renew", "Election/RenewMany"],
  resign: ["POST /v1/groups/{group_id}/resign", "Election/Resign"],
  leader: ["GET /v1/groups/{group_id}/leader", "Election/Leader"],
  createGroup: ["POST /v1/groups", "Groups/Create"],
  groups: ["GET /v1/groups", "Groups/List"],
  group: ["GET /v1/groups/{group_id}", "Groups/Get"],
  updateGroup: ["PATCH /v1/groups/{group_id}", "Groups/Update"],
  deleteGroup: ["DELETE /v1/groups/{group_id}", "Groups/Delete"],
  members: ["GET /v1/groups/{group_id}/members", "Groups/Members"],
  health: ["GET /v1/groups/{group_id}/health", "Groups/Health"],
  heartbeat: ["POST /v1/groups/{group_id}/heartbeat", "Groups/Heartbeat"],
  stepDown: ["POST /v1/groups/{group_id}/step-down", "Groups/StepDown"],
  transfer: ["POST /v1/groups/{group_id}/transfer", "Groups/Transfer"],
  pause: ["POST /v1/groups/{group_id}/pause", "Groups/Pause"],
  resume: ["POST /v1/groups/{group_id}/resume", "Groups/Resume"],
  history: ["GET /v1/groups/{group_id}/history", "Groups/History"],
  audit: ["GET /v1/audit", "Groups/Audit"],
  attention: ["GET /v1/attention", "Operations/Attention"],
  whoami: ["GET /v1/whoami", "Operations/Whoami"],
  server: ["GET /v1/server", "Operations/Server"],
  samples: ["GET /v1/samples", "Operations/Samples"],
  keys: ["GET /v1/keys", "Operations/Keys"],
} as const satisfies Readonly<Record<UnaryVerb, Route>>;

const STREAMS = {
  watch: ["GET /v1/groups/{group_id}/watch", "Election/Watch"],
  watchAll: ["GET /v1/watch", "Election/WatchAll"],
  watchMany: ["POST /v1/watch", "Election/WatchMany"],
} as const satisfies Readonly<Record<StreamVerb, Route>>;

export type RecordedVerb = keyof typeof ROUTES;
export type RecordedStream = keyof typeof STREAMS;
export const RECORDED_VERBS = Object.keys(ROUTES) as readonly RecordedVerb[];

const CALLERS = {
  n1: { sub: "n1", role: "node", groups: ["*"] },
  n2: { sub: "n2", role: "node", groups: ["*"] },
  narrow: { sub: "narrow", role: "node", groups: ["own/*"] },
  watcher: { sub: "watcher", role: "observer", groups: ["*"] },
} as const;

export type CallerName = keyof typeof CALLERS | "admin" | "nobody" | "forger";

export type Transport = "http" | "grpc";

/** One service, used over one transport. */
export class Recorder {
  /** Of the current service. */
  clock = new VirtualClock();
  readonly exchanges: Exchange[] = [];
  readonly transport: Transport;
  readonly #plan: FaultPlan = noFaults();
  #store: FaultyStore | null = null;
  #url = "";
  #address = "";
  #grpc: Readonly<Record<string, GrpcClient>> = {};
  #bearers: Readonly<Record<string, string>> = {};

  constructor(transport: Transport) {
    this.transport = transport;
  }

  /** The following requests go to a new service. */
  async serve(given: TenureServerOptions = {}): Promise<void> {
    await this.close();
    this.clock = new VirtualClock();
    return this.whileTimePasses(this.#serve(given), 0);
  }

  async #serve(given: TenureServerOptions): Promise<void> {
    const key = testKey("test");
    const exp = Math.floor(this.clock.wallMs() / 1000) + 80_000;
    const entries = Object.entries(CALLERS).map(
      async ([name, claims]) => [name, await token(key, { exp, ...claims })] as const,
    );
    this.#bearers = {
      admin: ADMIN_TOKEN,
      forger: "not-a-token",
      ...Object.fromEntries(await Promise.all(entries)),
    };
    const inner: Store = closing(new MemoryStore());
    this.#store = closing(
      new FaultyStore({ store: inner, time: this.clock, random: new Random(1), plan: this.#plan }),
    );
    const { server } = await serve(
      {
        adminTokenFile: temporaryFile("token", ADMIN_TOKEN),
        jwtJwks: temporaryFile("jwks.json", jwks(key)),
        grpc: "127.0.0.1:0",
        ...given,
      },
      { store: this.#store, clock: this.clock },
    );
    this.#url = server.url;
    this.#address = server.grpcAddress ?? "";
    const names = ["nobody", ...Object.keys(this.#bearers)];
    this.#grpc = Object.fromEntries(names.map((name) => [name, this.#dial(name)]));
  }

  /** Closes everything that was opened. */
  close(): Promise<void> {
    return this.whileTimePasses(cleanUp(), 1000);
  }

  loseStore(): void {
    this.#plan.outageUntilMs = Number.POSITIVE_INFINITY;
    this.#store?.breakFeeds();
  }

  /** Advances time in steps until `work` is done. */
  async whileTimePasses<T>(work: Promise<T>, stepMs = 100): Promise<T> {
    let isDone = false;
    const finish = () => (isDone = true);
    work.then(finish, finish);
    while (!isDone) {
      await this.clock.advance(stepMs);
      await turn();
    }
    return work;
  }

  /** The answer is recorded when it arrives. Until then only due timers fire: the time does not change. */
  async ask(as: CallerName, verb: RecordedVerb, request: Json = {}, headers: Json = {}): Promise<Json> {
    const [route, rpc] = ROUTES[verb];
    const asking =
      this.transport === "http"
        ? this.#http(as, route, request, headers as Record<string, string>)
        : this.#unary(as, rpc, request, headers as Record<string, string>);
    const exchange = await this.whileTimePasses(asking, 0);
    this.exchanges.push(exchange);
    return exchange.answer as Json;
  }

  /** Over HTTP only: requests that a gRPC client cannot send. */
  async raw(
    as: CallerName,
    ask: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    if (this.transport !== "http") return;
    const [method = "", path = ""] = ask.split(" ");
    const client = new Client(this.#url, this.#headers(as));
    const answer = await this.whileTimePasses(client.ask(method, path, body, { headers }), 0);
    const shown = typeof body === "string" && body.length > 200 ? `${body.length} characters` : body;
    this.exchanges.push(exchangeOf(as, ask, shown, answer.status, answer.headers, answer.body));
  }

  /** The first items of a stream; with a count of 0, its refusal. */
  stream(as: CallerName, verb: RecordedStream, request: Json, count: number): Promise<void> {
    return this.whileTimePasses(this.#stream(as, verb, request, count), 0);
  }

  async #stream(as: CallerName, verb: RecordedStream, request: Json, count: number): Promise<void> {
    const [route, rpc] = STREAMS[verb];
    if (this.transport === "grpc") {
      const stream = this.#client(as).stream(rpc, request);
      const items: unknown[] = [];
      while (items.length < count) items.push(await stream.next());
      if (count > 0) stream.call.cancel();
      const { status, error } = count > 0 ? { status: "OK", error: items } : await stream.end;
      this.exchanges.push({ as, ask: rpc, body: request, status, answer: plain(error) });
      return;
    }
    const { ask, body } = split(route, request);
    const [method = "", path = ""] = ask.split(" ");
    const client = new Client(this.#url, this.#headers(as));
    if (count === 0) {
      const headers = { accept: "text/event-stream" };
      const answer = await client.ask(method, path, body, { headers });
      this.exchanges.push(exchangeOf(as, ask, body, answer.status, answer.headers, answer.body));
      return;
    }
    const many = (body as { watches: readonly object[] } | undefined)?.watches;
    const stream = await (many === undefined ? client.stream(path) : client.streamMany(many));
    const items: unknown[] = [];
    while (items.length < count) {
      const { id, data } = await stream.event();
      items.push({ ...(id === undefined ? {} : { id }), data });
    }
    stream.close();
    const { status, headers } = stream.response;
    this.exchanges.push(exchangeOf(as, ask, body, status, headers, items));
  }

  #client(as: CallerName): GrpcClient {
    return this.#grpc[as] as GrpcClient;
  }

  #dial(name: string, more: Readonly<Record<string, string>> = {}): GrpcClient {
    const metadata = { ...this.#headers(name), ...more };
    return new GrpcClient(this.#address, credentials.createInsecure(), metadata);
  }

  #headers(name: string): Record<string, string> {
    const bearer = this.#bearers[name];
    return bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  }

  async #http(
    as: CallerName,
    route: string,
    request: Json,
    headers: Record<string, string>,
  ): Promise<Exchange> {
    const { ask, body } = split(route, request);
    const [method = "", path = ""] = ask.split(" ");
    const answer = await new Client(this.#url, this.#headers(as)).ask(method, path, body, { headers });
    return exchangeOf(as, ask, body, answer.status, answer.headers, answer.body);
  }

  async #unary(
    as: CallerName,
    rpc: string,
    request: Json,
    headers: Record<string, string>,
  ): Promise<Exchange> {
    const client = Object.keys(headers).length === 0 ? this.#client(as) : this.#dial(as, headers);
    const { status, body, error, trailers } = await client.ask(rpc, messageOf(request));
    const after = trailers["retry-after"];
    return {
      as,
      ask: rpc,
      body: request,
      status,
      ...(after === undefined ? {} : { headers: { "retry-after": after } }),
      answer: plain(status === "OK" ? body : error),
    };
  }
}

const NOTED_HEADERS = ["retry-after", "www-authenticate", "content-type"];

function exchangeOf(
  as: string,
  ask: string,
  body: unknown,
  status: number,
  headers: Headers,
  answer: unknown,
): Exchange {
  const noted = NOTED_HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null || value === "application/json; charset=utf-8" ? [] : [[name, value] as const];
  });
  return {
    as,
    ask,
    ...(body === undefined ? {} : { body }),
    status,
    ...(noted.length === 0 ? {} : { headers: Object.fromEntries(noted) }),
    answer: plain(answer),
  };
}

/** What the process and the network do, whatever the virtual clock says; and a clock that runs while a store is awaited. */
const REAL_NUMBERS = new Set(["request_p50_ms", "request_p99_ms", "event_loop_ms", "memory_bytes", "now_ms"]);

/** Without random and human-readable values. `undefined` is left out, as in JSON. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (key, each: unknown) => {
      if (["message", "problem", "summary", "next_step"].includes(key))
        return typeof each === "string" && each !== "" ? "(text)" : each;
      // Measured in real time.
      if (REAL_NUMBERS.has(key) && typeof each === "number") return "(number)";
      // Of the release.
      if (key === "version" && typeof each === "string") return "(version)";
      // Random, so that losers do not return all at once.
      if (key === "retry_after_ms" && typeof each === "number") return "(ms)";
      // Of the health of a member.
      if (key === "reason" && typeof each === "string" && each.includes(" ")) return "(text)";
      return each;
    }),
  ) as unknown;
}

/** A request as HTTP has it: the group in the path, the rest in the query of a GET or DELETE, else in the body. */
function split(route: string, request: Json): { ask: string; body?: unknown } {
  const { group_id: groupId, ...others } = request;
  const inPath = route.includes("{group_id}") && typeof groupId === "string";
  const path = route.replace("{group_id}", encodeURIComponent(String(groupId)));
  const rest = inPath ? others : request;
  if (/^(?:POST|PATCH)/.test(route)) return { ask: path, body: rest };
  const query = new URLSearchParams(
    Object.entries(rest).map(([key, value]) => [key, String(value)] as [string, string]),
  );
  return { ask: query.size === 0 ? path : `${path}?${query.toString()}` };
}

/** A request as gRPC has it: metadata as text, and a list that may be absent as a message. */
function messageOf(request: Json): Json {
  return Object.fromEntries(
    Object.entries(request).map(([key, value]) => {
      if (key === "metadata") return [key, JSON.stringify(value)];
      if (key === "allowed_nodes" && Array.isArray(value)) return [key, { node_ids: value as unknown[] }];
      if (key === "campaigns") return [key, (value as readonly Json[]).map(messageOf)];
      return [key, value];
    }),
  );
}

export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
