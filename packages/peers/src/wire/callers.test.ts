import { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { Callers, type WireIdentity } from "./callers.js";
import type { WireError } from "./wire-error.js";

const FOREIGN: WireIdentity = { kind: "foreign", why: "it is of the trust domain elsewhere" };
const named = (kind: string, name: string): WireIdentity => ({
  kind: "named",
  id: { uri: `spiffe://lockd/${kind}/${name}`, trustDomain: "lockd", kind, name },
});

function told(identity: WireIdentity, ask: (callers: Callers, socket: Socket) => unknown): unknown {
  try {
    return ask(new Callers(() => identity), new Socket()) ?? "let in";
  } catch (error) {
    return `${(error as WireError).status} ${(error as WireError).code}`;
  }
}

describe("callers by certificate", () => {
  const client = (identity: WireIdentity) => told(identity, (callers, socket) => callers.client(socket));
  const server = (identity: WireIdentity) => told(identity, (callers, socket) => callers.server(socket));
  const self = (identity: WireIdentity) => told(identity, (callers, socket) => callers.self(socket, "n1"));
  const unnamed: WireIdentity = { kind: "unnamed", why: "it has no URI" };

  it("tc clients and servers of this trust domain are admitted as clients", () => {
    expect(client(named("tc", "clerk"))).toBe("clerk");
    expect(client(named("server", "n1"))).toBe("n1");
    for (const identity of [named("sdk", "x"), named("admin", "x"), unnamed, { kind: "none" } as const]) {
      expect(client(identity)).toBe("403 tc_client_required");
    }
    expect(client(FOREIGN)).toBe("403 tc_forbidden");
  });

  it("servers of this trust domain are admitted as servers, and a certificate without a name is reported", () => {
    expect(server(named("server", "n1"))).toBe("n1");
    for (const identity of [named("tc", "n1"), named("sdk", "n1"), { kind: "none" } as const]) {
      expect(server(identity)).toBe("403 tc_server_required");
    }
    expect(server(unnamed)).toBe("403 tc_cluster_identity_missing");
    expect(server(FOREIGN)).toBe("403 tc_forbidden");
  });

  it("only the server itself is admitted in its own name", () => {
    expect(self(named("server", "n1"))).toBe("let in");
    expect(self(named("server", "n2"))).toBe("403 tc_forbidden");
    expect(self(named("tc", "n1"))).toBe("403 tc_server_required");
    expect(self(named("sdk", "n1"))).toBe("403 tc_client_required");
  });
});
