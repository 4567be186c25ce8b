import { BlockList, isIP } from "node:net";

export interface ListenRequest {
  readonly host: string;
  /** Some means of authentication is configured. */
  readonly isAuthenticated: boolean;
  /** The operator has said that anybody who can connect may do anything. */
  readonly isInsecure: boolean;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** The sentence to exit with, or undefined if the service may listen there. */
export function checkListen({ host, isAuthenticated, isInsecure }: ListenRequest): string | undefined {
  if (isAuthenticated || isInsecure || isLoopback(host)) return undefined;
  const place = host === "" ? "all addresses" : host;
  return (
    `no authentication is configured, and ${place} can be reached from other machines: give --tls-client-ca, ` +
    "--jwt-jwks or --admin-token-file, listen on 127.0.0.1, or say --insecure"
  );
}

/** What is not plainly a loopback address is none: `127.1` and other names may resolve to anything. */
export function isLoopback(host: string): boolean {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  if (bare.toLowerCase() === "localhost") return true;
  const family = isIP(bare);
  if (family === 0 || bare.includes("%")) return false;
  return LOOPBACK.check(bare, family === 4 ? "ipv4" : "ipv6");
}
