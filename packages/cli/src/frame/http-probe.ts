/** One plain request to a server or an engine, with what a client library would hide: headers, times, certificate. */
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import type { PeerCertificate, TLSSocket } from "node:tls";
import { onAbort } from "@tenure/core/internal";
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

/** Rejects with what the network said; a certificate that is not trusted is shown to nobody. */
export async function probe(url: string, options: ProbeOptions = {}): Promise<Probed> {
  const { method = "GET", body, timeoutMs = LIMIT_MS, tokenFile, caFile, certFile, keyFile } = options;
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const isTls = url.startsWith("https:");
  const tls = isTls ? { ...file("ca", caFile), ...file("cert", certFile), ...file("key", keyFile) } : {};
  const token = tokenFile === undefined ? undefined : readFileSync(tokenFile, "utf8").trim();
  const given = options.signal;
  const ending = new AbortController();
  const limit = setTimeout(() => ending.abort(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
  const stopListening = onAbort(given, () => ending.abort(given?.reason));
  const sentAtMs = Date.now();
  const request = (isTls ? httpsRequest : httpRequest)(url, {
    method,
    agent: false,
    headers: {
      ...(payload === undefined
        ? {}
        : { "content-type": "application/json", "content-length": String(Buffer.byteLength(payload)) }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...options.headers,
    },
    ...tls,
  });
  onAbort(ending.signal, () => request.destroy(ending.signal.reason as Error));
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.once("response", resolve).on("error", reject);
      request.end(payload);
    });
    return await read(response, sentAtMs, isTls);
  } finally {
    clearTimeout(limit);
    stopListening();
  }
}

async function read(response: IncomingMessage, sentAtMs: number, isTls: boolean): Promise<Probed> {
  const answeredAtMs = Date.now();
  // Before the end of the answer: the socket is let go with it.
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
