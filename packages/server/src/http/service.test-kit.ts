/** A running service and a client of it. Everything opened here is closed by `cleanUp`. */
import { once } from "node:events";
import { connect } from "node:net";
import { MemoryStore, type Store, systemClock } from "@tenure/core";
import { type FaultPlan, FaultyStore, noFaults, Random } from "@tenure/core/testing";
import { pino } from "pino";
import { closing, jwks, later, temporaryFile, testKey, token } from "../auth/auth.test-kit.js";
import type { TenureServerOptions } from "../options.js";
import { TenureServer, type TenureServerDeps } from "../tenure-server.js";

export { cleanUp, later } from "../auth/auth.test-kit.js";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed where it is JSON, else the text. */
  readonly body: Body;
}

export type Body = Readonly<Record<string, unknown>>;

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export class Client {
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.url = url;
    this.#headers = headers;
  }

  as(bearer: string): Client {
    return new Client(this.url, { authorization: `Bearer ${bearer}` });
  }

  get(path: string, options?: AskOptions): Promise<Answer> {
    return this.ask("GET", path, undefined, options);
  }

  post(path: string, body?: unknown, options?: AskOptions): Promise<Answer> {
    return this.ask("POST", path, body, options);
  }

  async ask(method: string, path: string, body?: unknown, options: AskOptions = {}): Promise<Answer> {
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...this.#headers,
        ...options.headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const text = await answer.text();
    const isJson = text !== "" && answer.headers.get("content-type")?.startsWith("application/json") === true;
    return {
      status: answer.status,
      headers: answer.headers,
      body: (isJson ? JSON.parse(text) : text) as Body,
    };
  }

  campaign(group: string, node: string, more: object = {}, options?: AskOptions): Promise<Answer> {
    const body = { node_id: node, lease_ttl_ms: 5000, ...more };
    return this.post(`/v1/groups/${encodeURIComponent(group)}/campaign`, body, options);
  }

  renew(group: string, node: string, term: number, more: object = {}): Promise<Answer> {
    const body = { node_id: node, term, extend_by_ms: 5000, ...more };
    return this.post(`/v1/groups/${encodeURIComponent(group)}/renew`, body);
  }

  resign(group: string, node: string, term: number): Promise<Answer> {
    return this.post(`/v1/groups/${encodeURIComponent(group)}/resign`, { node_id: node, term });
  }

  leader(group: string): Promise<Answer> {
    return this.get(`/v1/groups/${encodeURIComponent(group)}/leader`);
  }

  /** The value of one series, NaN if it is not there. */
  async metric(series: string): Promise<number> {
    const { body } = await this.get("/metrics");
    const line = (body as unknown as string).split("\n").find((each) => each.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1) ?? Number.NaN);
  }

  /** Reads until the metric has this value; the test's own time limit is the bound. */
  async untilMetric(series: string, value: number): Promise<void> {
    while ((await this.metric(series)) !== value);
  }

  stream(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Stream> {
    return Stream.open(this.url + path, { ...this.#headers, ...headers });
  }

  /** One stream of several groups. */
  streamMany(watches: readonly object[]): Promise<Stream> {
    const headers = { ...this.#headers, "content-type": "application/json" };
    return Stream.open(`${this.url}/v1/watch`, headers, { watches });
  }
}

export interface StreamItem {
  readonly id?: string;
  readonly data?: Body;
  readonly retry?: string;
  readonly comment?: boolean;
}

/** A reader of Server-Sent Events. */
export class Stream {
  readonly response: Response;
  readonly #abort: AbortController;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";

  private constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.#reader = (response.body as ReadableStream<Uint8Array>)
      .pipeThrough(new TextDecoderStream())
      .getReader();
  }

  static async open(url: string, headers: Readonly<Record<string, string>>, body?: object): Promise<Stream> {
    const abort = new AbortController();
    const response = await fetch(url, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      headers: { accept: "text/event-stream", ...headers },
      signal: abort.signal,
    });
    const stream = new Stream(response, abort);
    later(() => stream.close());
    return stream;
  }

  /** `null` at the end of the stream. */
  async next(): Promise<StreamItem | null> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return parseItem(block);
      }
      const { done, value } = await this.#reader.read();
      if (done) return null;
      this.#text += value;
    }
  }

  /** The next message that carries an event. */
  async event(): Promise<StreamItem & { readonly data: Body }> {
    for (;;) {
      const item = await this.next();
      if (item === null) throw new Error("the stream has ended");
      if (item.data !== undefined) return { ...item, data: item.data };
    }
  }

  close(): void {
    this.#abort.abort();
  }
}

function parseItem(block: string): StreamItem {
  const item: Record<string, unknown> = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    const value = line.slice(colon + 1).replace(/^ /, "");
    if (colon === 0) item["comment"] = true;
    else item[line.slice(0, colon)] = line.startsWith("data") ? JSON.parse(value) : value;
  }
  return item;
}

export interface Service extends Client {
  readonly server: TenureServer;
}

export async function serve(given: TenureServerOptions = {}, parts: TenureServerDeps = {}): Promise<Service> {
  const options = { listen: "127.0.0.1:0", logLevel: "silent", ...given } as const;
  // No level silences the audit log, and a test without its own log does not read it.
  const log = pino({ level: "silent" }, { write: () => {} });
  const server = closing(await TenureServer.open(options, { store: memory(), log, ...parts }));
  return Object.assign(new Client(server.url), { server });
}

export function memory(): Store {
  return closing(new MemoryStore());
}

/** `goOut` and `comeBack` are the store's. */
export function faulty(inner: Store = memory()): { store: Store; goOut(): void; comeBack(): void } {
  const plan: FaultPlan = noFaults();
  const store = closing(new FaultyStore({ store: inner, time: systemClock, random: new Random(1), plan }));
  return {
    store,
    goOut: () => {
      plan.outageUntilMs = Number.POSITIVE_INFINITY;
      store.breakFeeds();
    },
    comeBack: () => {
      plan.outageUntilMs = 0;
    },
  };
}

export const ADMIN_TOKEN = "an-admin-token-for-tests";

/** A service with authentication: the admin token, and JWTs made by `bearer`. */
export async function serveKnown(
  given: TenureServerOptions = {},
  parts: TenureServerDeps = {},
): Promise<{ service: Service; jwksFile: string; bearer(claims: object): Promise<string> }> {
  const key = testKey("test");
  const jwksFile = temporaryFile("jwks.json", jwks(key));
  const exp = Math.floor(systemClock.wallMs() / 1000) + 600;
  const service = await serve(
    {
      adminTokenFile: temporaryFile("token", ADMIN_TOKEN),
      jwtJwks: jwksFile,
      ...given,
    },
    parts,
  );
  return { service, jwksFile, bearer: (claims) => token(key, { exp, ...claims }) };
}

/** Sends bytes unchanged, which `fetch` would not. Resolves with everything received until the end. */
export async function rawRequest(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  later(() => socket.destroy());
  let got = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (got += chunk));
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.end(text, "latin1");
  if (!socket.closed) await once(socket, "close");
  return got;
}
