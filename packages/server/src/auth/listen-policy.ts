import { BlockList, isIP } from "node:net";

export interface ListenRequest {
  readonly host: string;
  /** Some means of authentication is configured. */
  readonly isAuthenticated: boolean;
  /** JWTs or the admin token are accepted. */
  readonly takesTokens: boolean;
  readonly isTls: boolean;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

export interface ListenDanger {
  /** The sentence to refuse the address with. `nameOf` is the caller's name of an option: `tlsCert`, or `--tls-cert`. */
  readonly refusal: (nameOf: (option: string) => string) => string;
  /** The sentence to log where the operator has accepted the danger with `--insecure`. */
  readonly warning: string;
}

/**
 * What is dangerous about listening there, or undefined. On an address that other machines can reach, callers must be
 * known, and what makes them known must not cross the network in clear text: whoever reads a bearer token has it.
 */
export function listenDanger({
  host,
  isAuthenticated,
  takesTokens,
  isTls,
}: ListenRequest): ListenDanger | undefined {
  if (isLoopback(host)) return undefined;
  const place = host === "" ? "all addresses" : host;
  if (!isAuthenticated) {
    return {
      refusal: (nameOf) =>
        `no authentication is configured, and ${place} can be reached from other machines: set ${nameOf("tlsClientCa")}, ` +
        `${nameOf("jwtJwks")} or ${nameOf("adminTokenFile")}, listen on 127.0.0.1, or set ${nameOf("insecure")}`,
      warning: `--insecure: no authentication is configured, and every caller that can reach ${place} is an admin`,
    };
  }
  if (!takesTokens || isTls) return undefined;
  return {
    refusal: (nameOf) =>
      `bearer tokens (${nameOf("jwtJwks")}, ${nameOf("adminTokenFile")}) would reach ${place} in clear text, and anyone who ` +
      `intercepts a token can use it: set ${nameOf("tlsCert")} and ${nameOf("tlsKey")}, listen on 127.0.0.1 behind a proxy that ` +
      `serves TLS, or set ${nameOf("insecure")}`,
    warning: `--insecure: bearer tokens reach ${place} in clear text; anyone who intercepts a token can use it`,
  };
}

/** What is not plainly a loopback address is none: `127.1` and other names may resolve to anything. */
export function isLoopback(host: string): boolean {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  if (bare.toLowerCase() === "localhost") return true;
  const family = isIP(bare);
  if (family === 0 || bare.includes("%")) return false;
  return LOOPBACK.check(bare, family === 4 ? "ipv4" : "ipv6");
}
