/** Why no server answered, in plain words: each address is tried once more, and what answers there decides the text. */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { probe } from "./http-probe.js";

const LIMIT_MS = 2000;

/** Certificates that no known CA has signed. */
const UNTRUSTED = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** One clause for each address whose failure has a better explanation than the error of the network. */
export async function explainEndpoints(
  endpoints: readonly string[],
  caFile: string | undefined,
): Promise<string[]> {
  const all = await Promise.all(endpoints.map((each) => explain(each, caFile).catch(() => null)));
  return all.filter((each) => each !== null);
}

async function explain(endpoint: string, caFile: string | undefined): Promise<string | null> {
  const url = new URL(endpoint);
  const isTls = url.protocol === "https:";
  const tls = await handshake(url);
  if (!isTls) {
    if (tls === null) return null;
    return `${url.host} accepts only TLS connections; use https://${url.host}`;
  }
  if (tls === null) {
    const plain = `http://${url.host}`;
    const answer = await probe(`${plain}/healthz`, { timeoutMs: LIMIT_MS }).catch(() => null);
    return answer === null ? null : `${url.host} does not speak TLS; use ${plain}`;
  }
  if (tls === "" || !UNTRUSTED.has(tls)) return null;
  const fix = caFile === undefined ? "name its CA with --ca" : `--ca ${caFile} is not the CA that signed it`;
  return `the certificate of ${url.host} is not trusted (${tls}); ${fix}`;
}

/** The code of what is wrong with the certificate, "" if nothing is; `null` if nothing there speaks TLS. */
async function handshake(url: URL): Promise<string | null> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const reached = connectTcp({ host, port, timeout: LIMIT_MS });
  const servername = isIP(host) === 0 ? { servername: host } : {};
  // Nothing is sent over this connection: it only shows which protocol the server speaks.
  const socket = connectTls({ socket: reached, rejectUnauthorized: false, ...servername });
  try {
    return await new Promise<string | null>((resolve) => {
      socket.once("secureConnect", () => resolve(codeOf(socket)));
      for (const each of [socket, reached] as readonly Socket[]) {
        each.once("error", () => resolve(null)).once("close", () => resolve(null));
      }
      reached.once("timeout", () => resolve(null));
    });
  } finally {
    socket.destroy();
    reached.destroy();
  }
}

function codeOf(socket: TLSSocket): string {
  // Typed as an error, but it is the code of the error.
  const problem: unknown = socket.authorizationError;
  if (problem === null || problem === undefined) return "";
  return typeof problem === "string" ? problem : ((problem as NodeJS.ErrnoException).code ?? "");
}
