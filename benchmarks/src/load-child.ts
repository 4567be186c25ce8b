/**
 * A load generator on plain sockets: each connection sends its one request again as soon as it is answered. It looks at
 * no more of an answer than it must, so that it takes little from the machine that it shares with the service.
 */
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { answerOwner } from "./child.js";

export interface Load {
  readonly port: number;
  readonly verb: "renew" | "leader";
  readonly connections: number;
  readonly turnMs: number;
}

export interface Measured {
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const TTL_MS = 60_000;
const CRLF2 = Buffer.from("\r\n\r\n");

answerOwner<Load, Measured>(async ({ port, verb, connections, turnMs }) => {
  const callers = await Promise.all(
    Array.from({ length: connections }, (_, index) => Caller.open(port, `group-${index}`)),
  );
  await Promise.all(callers.map((caller) => caller.prepare(verb)));
  const startMs = performance.now();
  const endMs = startMs + turnMs;
  const latenciesMs: number[] = [];
  await Promise.all(callers.map((caller) => caller.repeat(endMs, latenciesMs)));
  const tookMs = performance.now() - startMs;
  for (const caller of callers) caller.close();
  latenciesMs.sort((a, b) => a - b);
  const at = (share: number) => latenciesMs[Math.ceil(share * latenciesMs.length) - 1] ?? Number.NaN;
  return {
    count: latenciesMs.length,
    perSecond: (latenciesMs.length * 1000) / tookMs,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
});

class Caller {
  readonly #socket: Socket;
  readonly #path: string;
  #request: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket, group: string) {
    this.#socket = socket;
    this.#path = `/v1/groups/${group}`;
  }

  static async open(port: number, group: string): Promise<Caller> {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    await once(socket, "connect");
    return new Caller(socket, group);
  }

  /** The request that it will repeat; renewing needs a lease first. */
  async prepare(verb: Load["verb"]): Promise<void> {
    const node = { node_id: "node-1", instance_start_uuid: "0b5a3c1e-7d0f-4b52-9f0e-5d1a8c7e2b11" };
    const campaign = await this.#once(
      request("POST", `${this.#path}/campaign`, { ...node, lease_ttl_ms: TTL_MS }),
    );
    const { leader } = JSON.parse(campaign) as { leader: { term: number } };
    this.#request =
      verb === "leader"
        ? request("GET", `${this.#path}/leader`)
        : request("POST", `${this.#path}/renew`, { ...node, term: leader.term, extend_by_ms: TTL_MS });
  }

  repeat(endMs: number, latenciesMs: number[]): Promise<void> {
    return new Promise((resolve, reject) => {
      let sentMs = performance.now();
      let answer: Buffer | null = null;
      this.#socket.removeAllListeners().on("error", reject);
      this.#socket.on("data", (chunk) => {
        answer = answer === null ? chunk : Buffer.concat([answer, chunk]);
        if (!isWhole(answer)) return;
        const nowMs = performance.now();
        latenciesMs.push(nowMs - sentMs);
        answer = null;
        if (nowMs >= endMs) return resolve();
        sentMs = nowMs;
        this.#socket.write(this.#request);
      });
      this.#socket.write(this.#request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  async #once(sent: Buffer): Promise<string> {
    this.#socket.write(sent);
    let answer: Buffer = Buffer.alloc(0);
    while (!isWhole(answer)) {
      const [chunk] = (await once(this.#socket, "data")) as [Buffer];
      answer = Buffer.concat([answer, chunk]);
    }
    return answer.toString("utf8", answer.indexOf(CRLF2) + CRLF2.length);
  }
}

function request(method: string, path: string, body?: object): Buffer {
  const text = body === undefined ? "" : JSON.stringify(body);
  const headers =
    body === undefined
      ? []
      : ["content-type: application/json", `content-length: ${Buffer.byteLength(text)}`];
  return Buffer.from(
    `${[`${method} ${path} HTTP/1.1`, "host: 127.0.0.1", ...headers].join("\r\n")}\r\n\r\n${text}`,
  );
}

const OK = "HTTP/1.1 200 ";

/** Throws if it is not a 200. */
function isWhole(answer: Buffer): boolean {
  if (answer.length < OK.length) return false;
  const head = answer.toString("latin1", 0, Math.min(answer.length, 600));
  if (!head.startsWith(OK)) throw new Error(`a request was answered ${answer.toString()}`);
  const end = head.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  return answer.length >= end + 4 + Number(length);
}
