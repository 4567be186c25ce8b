/**
 * Requests that a web page of somebody else makes a browser send. Where the service knows a caller by the connection alone
 * (a client certificate, or no authentication on loopback), such a page would act as the person at the browser.
 *
 * - A page of another site is refused whatever may change something. It cannot read answers, as there are no CORS headers.
 * - A page whose own name was made to resolve to the address of this service (DNS rebinding) is of the same site to the browser.
 *   It is known by the name it uses, which the browser sends as Host. The name counts where there is no authentication: with
 *   TLS the certificate has another name, and a browser sends no bearer token by itself.
 *
 * Programs send neither Origin nor Sec-Fetch-Site, and the Host of the URL that they were given.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isLoopback } from "../auth/listen-policy.js";
import { ServiceError } from "../service-error.js";

export interface HostRule {
  /** Some means of authentication is configured. */
  readonly isAuthenticated: boolean;
  /** The service listens on this machine only. */
  readonly isLocal: boolean;
  /** `--allowed-hosts`; `null`: none given. `*` admits every name. */
  readonly allowed: readonly string[] | null;
}

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);
const OWN_SITES = new Set(["same-origin", "none"]);

/** Why the request is refused, or null. */
export function foreignRequest(
  request: IncomingMessage,
  rule: HostRule,
  isTls: boolean,
): ServiceError | null {
  const { host = "", origin, "sec-fetch-site": site } = request.headers;
  if (hasManyHosts(request)) {
    return new ServiceError("INVALID_REQUEST", "host is sent more than once; send one Host header", {
      field: "host",
    });
  }
  if (host !== "" && !isHostAllowed(host, rule)) return foreignHost(host, rule);
  if (SAFE_METHODS.has(request.method ?? "")) return null;
  if (typeof site === "string" && !OWN_SITES.has(site)) return crossSite(`sec-fetch-site is ${site}`);
  if (origin !== undefined && !isOwnOrigin(origin, host, isTls)) {
    return crossSite(`origin is ${origin}, and host is ${host}`);
  }
  return null;
}

function hasManyHosts({ rawHeaders }: IncomingMessage): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count > 1;
}

/** Results of `judge` by rule, which is one per server. Almost all requests name the same few hosts. */
const judged = new WeakMap<HostRule, Map<string, boolean>>();
/** Per server. A caller that sends many names makes the next requests of others a few microseconds slower, nothing else. */
const MAX_JUDGED = 256;
/** No DNS name is longer. The result for a longer Host is not cached. */
const MAX_JUDGED_LENGTH = 260;

function isHostAllowed(host: string, rule: HostRule): boolean {
  let known = judged.get(rule);
  if (known === undefined) judged.set(rule, (known = new Map<string, boolean>()));
  let isAllowed = known.get(host);
  if (isAllowed === undefined) {
    isAllowed = judge(host, rule);
    if (known.size >= MAX_JUDGED) known.clear();
    if (host.length <= MAX_JUDGED_LENGTH) known.set(host, isAllowed);
  }
  return isAllowed;
}

function judge(host: string, { isAuthenticated, isLocal, allowed }: HostRule): boolean {
  if (isAuthenticated && allowed === null) return true;
  const name = nameOf(host);
  if (allowed?.some((each) => each === "*" || each === name) === true || isLoopback(name)) return true;
  // An address needs no name that could be made to resolve to it, and no name without a dot is anybody's in public DNS.
  return !isLocal && (isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || /^[a-z0-9_-]+$/.test(name));
}

/** Without the port. */
function nameOf(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

/** Whether a page of this origin was served under this Host. A default port may be left out of either. */
function isOwnOrigin(origin: string, host: string, isTls: boolean): boolean {
  if (!URL.canParse(origin)) return false;
  const from = new URL(origin);
  if (isTls && from.protocol !== "https:") return false;
  const own = `${from.protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === from.host;
}

function foreignHost(host: string, { isAuthenticated, isLocal }: HostRule): ServiceError {
  const why = isAuthenticated
    ? "--allowed-hosts does not list it"
    : `this service has no authentication and accepts only ${isLocal ? "localhost and 127.0.0.1" : "addresses and names without a dot"}`;
  return new ServiceError(
    "FOREIGN_REQUEST",
    `host is ${host}, and ${why}; use a URL with an accepted host, or start the service with --allowed-hosts ${nameOf(host)}`,
    { field: "host" },
  );
}

function crossSite(found: string): ServiceError {
  const message =
    `a page of another site sent this request (${found}); use the dashboard of this service, or a program that is not a ` +
    "browser. A proxy in front of this service must forward the Host header";
  return new ServiceError("FOREIGN_REQUEST", message);
}
