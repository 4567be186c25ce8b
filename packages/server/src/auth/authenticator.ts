import type { PeerCertificate } from "node:tls";
import type { Caller } from "./caller.js";

/** What a transport can show of a request's sender. */
export interface Credentials {
  /** The `Authorization` header, or the metadata of that name. */
  readonly authorization: string | undefined;
  /** Of a connection whose client certificate was verified; else undefined. */
  readonly certificate: PeerCertificate | undefined;
  /** Called before the signature of a token is verified, which is costly. May throw. */
  readonly beforeVerifying?: (() => void) | undefined;
}

/** Tells who asks. Rejects with `ServiceError` `UNAUTHENTICATED` for missing, bad or outdated credentials. */
export interface Authenticator extends AsyncDisposable {
  authenticate(credentials: Credentials): Promise<Caller> | Caller;
}

/** For loopback without any authentication set up: whoever can connect is at the machine. */
export class LoopbackAuthenticator implements Authenticator {
  authenticate(): Caller {
    return { kind: "none", role: "admin", name: "loopback" };
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
