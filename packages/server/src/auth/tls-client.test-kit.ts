/** Requests over TLS with a client certificate, on a connection that the test controls. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import type { TLSSocket } from "node:tls";
import { later } from "./auth.test-kit.js";

export interface TlsIdentity {
  readonly ca: string;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface TlsAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** The connection was open before this request. */
  readonly isReused: boolean;
  /** The connection resumed a session of an earlier one. */
  readonly isResumed: boolean;
}

/** Keeps one connection alive for all its requests, as a renewing leader does. */
export class TlsClient {
  readonly #url: string;
  readonly #agent: Agent;

  constructor(url: string, { ca, cert, key }: TlsIdentity, options: object = {}) {
    this.#url = url;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: 1,
      ca: readFileSync(ca),
      ...(cert === undefined || key === undefined
        ? {}
        : { cert: readFileSync(cert), key: readFileSync(key) }),
      ...options,
    });
    later(() => this.#agent.destroy());
  }

  async ask(
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<TlsAnswer> {
    const asked = request(this.#url + path, {
      method,
      agent: this.#agent,
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    });
    asked.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    const isResumed = (asked.socket as TLSSocket).isSessionReused();
    let text = "";
    for await (const chunk of answer.setEncoding("utf8")) text += chunk as string;
    return {
      status: answer.statusCode ?? 0,
      body: JSON.parse(text) as TlsAnswer["body"],
      isReused: asked.reusedSocket,
      isResumed,
    };
  }

  get(path: string, headers?: Readonly<Record<string, string>>): Promise<TlsAnswer> {
    return this.ask("GET", path, undefined, headers);
  }

  post(path: string, body?: object): Promise<TlsAnswer> {
    return this.ask("POST", path, body);
  }
}
