/** Which caller may send which request. Only the certificate identifies the caller; nothing in a body does. */
import type { Socket } from "node:net";
import type { SpiffeId } from "@tenure/core/internal";
import { WireError } from "./wire-error.js";

/** The identity of a connection, as the service reports it (`ConnectionIdentity`). */
export type WireIdentity =
  | { readonly kind: "none" }
  | { readonly kind: "unnamed"; readonly why: string }
  /** A certificate of another trust domain. */
  | { readonly kind: "foreign"; readonly why: string }
  | { readonly kind: "named"; readonly id: SpiffeId };

export class Callers {
  readonly #identify: (socket: Socket) => WireIdentity;

  constructor(identify: (socket: Socket) => WireIdentity) {
    this.#identify = identify;
  }

  /** Requires a client of the coordinator, or a server. Returns its name. */
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

  /** Requires a server. Returns its node id. */
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

  /** Requires the server whose node id is `claimed`. */
  self(socket: Socket, claimed: string): void {
    this.client(socket);
    const name = this.server(socket);
    if (name !== claimed) throw new WireError("tc_forbidden", `${name} may not act as ${claimed}`);
  }
}
