/** A client of the service that keeps its connections, on plain node:http. */
import { Agent, request } from "node:http";

export interface Answer {
  readonly status: number;
  readonly body: Body;
}

/** The answer of the service, as far as these tests use it. */
export interface Body {
  readonly ok?: boolean;
  readonly error?: string;
  readonly is_leader?: boolean;
  readonly leader?: { readonly node_id: string; readonly term: number } | null;
  readonly term?: number;
  readonly waited_ms?: number;
  readonly events?: readonly { readonly type: string; readonly term: number; readonly reason: string }[];
  readonly cursor?: string;
}

export class Api {
  readonly port: number;
  readonly #agent: Agent;

  constructor(port: number, connections: number = Number.POSITIVE_INFINITY) {
    this.port = port;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  async get(path: string): Promise<Answer> {
    return parsed(await this.#send("GET", path));
  }

  async text(path: string): Promise<string> {
    return (await this.#send("GET", path)).text;
  }

  campaign(group: string, nodeId: string, ttlMs: number, waitMs?: number): Promise<Answer> {
    const wait = waitMs === undefined ? {} : { wait_ms: waitMs };
    return this.#act(group, "campaign", { node_id: nodeId, lease_ttl_ms: ttlMs, ...wait });
  }

  renew(group: string, nodeId: string, term: number, ttlMs: number): Promise<Answer> {
    return this.#act(group, "renew", { node_id: nodeId, term, extend_by_ms: ttlMs });
  }

  resign(group: string, nodeId: string, term: number): Promise<Answer> {
    return this.#act(group, "resign", { node_id: nodeId, term });
  }

  leader(group: string): Promise<Answer> {
    return this.get(`/v1/groups/${encodeURIComponent(group)}/leader`);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #act(group: string, verb: string, body: object): Promise<Answer> {
    const path = `/v1/groups/${encodeURIComponent(group)}/${verb}`;
    return parsed(await this.#send("POST", path, JSON.stringify(body)));
  }

  #send(method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
    const headers =
      body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const sent = request(
        { host: "127.0.0.1", port: this.port, method, path, headers, agent: this.#agent },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.once("end", () => resolve({ status: response.statusCode ?? 0, text }));
          response.once("error", reject);
        },
      );
      sent.once("error", reject);
      sent.end(body);
    });
  }
}

function parsed({ status, text }: { status: number; text: string }): Answer {
  return { status, body: JSON.parse(text) as Body };
}

/** The term of a campaign that was won; any other answer is an error. */
export function termWon({ status, body }: Answer): number {
  if (body.is_leader !== true) throw new Error(`a campaign was answered ${status} ${JSON.stringify(body)}`);
  return body.leader?.term ?? 0;
}

export function mustSucceed({ status, body }: Answer): void {
  if (status !== 200) throw new Error(`a request was answered ${status} ${JSON.stringify(body)}`);
}
