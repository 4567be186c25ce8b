/** One plain request to a server or an engine. The result includes what a client library hides: headers, times, certificate. */
import { systemClock } from "@tenure/core";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import type { PeerCertificate, TLSSocket } from "node:tls";
import { onAbort, within } from "@tenure/core/internal";
import type { Access } from "./connection.js";

export interface ProbeOptions extends Access {
  readonly method?: "GET" | "POST";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface Probed {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** On this machine's wall clock, before the request was sent and after its answer had begun. */
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  readonly certificate: PeerCertificate | null;
}

const LIMIT_MS = 3000;

/** Rejects with the error of the network. To a server whose certificate is not trusted, no token and no request is sent. */
export async function probe(url: string, options: ProbeOptions = {}): Promise<Probed> {
  const { method = "GET", body, timeoutMs = LIMIT_MS, tokenFile, caFile, certFile, keyFile } = options;
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const isTls = url.startsWith("https:");
  const tls = isTls ? { ...file("ca", caFile), ...file("cert", certFile), ...file("key", keyFile) } : {};
  const token = tokenFile === undefined ? undefined : readFileSync(tokenFile, "utf8").trim();
  const headers = {
    ...(payload === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(payload)) }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...options.headers,
  };
  const late = (): Error => new Error(`no response within ${timeoutMs} ms`);
  return within(systemClock, { limitMs: timeoutMs, signal: options.signal, late }, async (signal) => {
    const sentAtMs = Date.now();
    const request = (isTls ? httpsRequest : httpRequest)(url, { method, agent: false, headers, ...tls });
    onAbort(signal, () => request.destroy(signal.reason as Error));
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once("response", resolve).on("error", reject);
      request.end(payload);
    });
    return read(response, sentAtMs, isTls);
  });
}

async function read(response: IncomingMessage, sentAtMs: number, isTls: boolean): Promise<Probed> {
  const answeredAtMs = Date.now();
  // Read before the end of the answer, because the socket is released then.
  const certificate = isTls ? (response.socket as TLSSocket).getPeerCertificate() : null;
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: await text(response),
    sentAtMs,
    answeredAtMs,
    certificate,
  };
}

function file(name: "ca" | "cert" | "key", path: string | undefined): Readonly<Record<string, Buffer>> {
  return path === undefined ? {} : { [name]: readFileSync(path) };
}
