/** Who may ask what, by certificate alone. Nothing in a body is trusted for an identity. */
import type { Socket } from "node:net";
import { WireError } from "./wire-error.js";

/** What the service tells of a connection; its `ConnectionIdentity`. */
export type WireIdentity =
  | { readonly kind: "none" }
  | { readonly kind: "unnamed"; readonly why: string }
  /** Of another trust domain. */
  | { readonly kind: "foreign"; readonly why: string }
  | {
      readonly kind: "named";
      readonly id: {
        readonly uri: string;
        readonly trustDomain: string;
        readonly kind: string;
        readonly name: string;
      };
    };

export class Callers {
  readonly #identify: (socket: Socket) => WireIdentity;

  constructor(identify: (socket: Socket) => WireIdentity) {
    this.#identify = identify;
  }

  /** A client of the coordinator, or a server. */
  client(socket: Socket): string {
    const identity = this.#identify(socket);
    if (identity.kind === "foreign") throw new WireError("tc_forbidden", identity.why);
    if (identity.kind !== "named") {
      const why = identity.kind === "none" ? "no valid client certificate was shown" : identity.why;
      throw new WireError("tc_client_required", `${why}; show one of spiffe://…/tc/NAME or …/server/NODE`);
    }
    const { kind, uri, name } = identity.id;
    if (kind !== "tc" && kind !== "server") {
      throw new WireError("tc_client_required", `${uri} is neither a tc client nor a server`);
    }
    return name;
  }

  isServer(socket: Socket): boolean {
    const identity = this.#identify(socket);
    return identity.kind === "named" && identity.id.kind === "server";
  }

  /** A server; its node id. */
  server(socket: Socket): string {
    const identity = this.#identify(socket);
    if (identity.kind === "none") {
      throw new WireError("tc_server_required", "no valid certificate was shown; show that of a server");
    }
    if (identity.kind === "foreign") throw new WireError("tc_forbidden", identity.why);
    if (identity.kind === "unnamed") {
      throw new WireError(
        "tc_cluster_identity_missing",
        `${identity.why}; servers have spiffe://…/server/NODE`,
      );
    }
    const { kind, uri, name } = identity.id;
    if (kind !== "server") throw new WireError("tc_server_required", `${uri} is not a server`);
    return name;
  }

  /** A server that speaks for itself. */
  self(socket: Socket, claimed: string): void {
    this.client(socket);
    const name = this.server(socket);
    if (name !== claimed) throw new WireError("tc_forbidden", `${name} may not act as ${claimed}`);
  }
}
