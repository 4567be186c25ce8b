import type { Socket } from "node:net";
import type { PeerCertificate } from "node:tls";
import type { Caller } from "./caller.js";

/** Where a request came from. */
export interface Origin {
  readonly transport: "http" | "grpc";
  /** Without the port. That of a proxy, if there is one. */
  readonly remoteAddress: string;
  readonly requestId: string;
}

/** What a transport can show of a request's sender. */
export interface Credentials {
  /** The `Authorization` header, or the metadata of that name. */
  readonly authorization: string | undefined;
  /** Of a connection whose client certificate was verified; else undefined. */
  readonly certificate: PeerCertificate | undefined;
  readonly origin?: Origin | undefined;
  /** Where the transport knows it: it says why a certificate was not verified. */
  readonly connection?: Socket | undefined;
}

/** Tells who asks. Rejects with `ServiceError` `UNAUTHENTICATED` for missing, bad or outdated credentials. */
export interface Authenticator extends AsyncDisposable {
  /** `beforeVerifying` is called before the signature of a token is verified, which is costly. It may throw. */
  authenticate(credentials: Credentials, beforeVerifying?: () => void): Promise<Caller> | Caller;
}

/** For loopback without any authentication set up: whoever can connect is at the machine. */
export class LoopbackAuthenticator implements Authenticator {
  authenticate(): Caller {
    return { kind: "none", role: "admin", name: "loopback" };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
