import { Socket } from "node:net";
import { beforeEach, describe, expect, it } from "vitest";
import type { ActiveMember, Configuration, Vote } from "../protocol/messages.js";
import { Callers } from "./callers.js";
import { named } from "./node.test-kit.js";
import { Offices } from "./offices.js";
import type { WireError } from "./wire-error.js";

const place = (name: string) => ({ endpoint: `https://${name}:1`, disk: `disk-${name}` });
const CONFIG: Configuration = {
  cluster: "c1",
  epoch: { term: 3, n: 0 },
  members: { a: place("a"), b: place("b") },
};
const ABSURD = Number.MAX_SAFE_INTEGER;

describe("the offices of a server", () => {
  let config: Configuration | null;
  let vote: Vote | null;
  let active: ActiveMember[];
  let observed: { leaderId: string; term: number } | null;
  beforeEach(() => {
    config = CONFIG;
    observed = null;
    vote = { term: 5, holderId: "a", holderEndpoint: "https://a:1", ttlMs: 1000 };
    active = [{ identity: "d", ...place("d") }];
  });

  const asked = (caller: string, ask: (offices: Offices, socket: Socket) => void): string => {
    const callers = new Callers(() => named(caller));
    const offices = new Offices({
      identity: "self",
      callers,
      membership: {
        active: () => active,
        departedFrom: (name) => (name === "gone" ? "https://gone:1" : null),
      },
      electorate: () => config,
      vote: () => vote,
      observed: () => observed,
    });
    try {
      ask(offices, new Socket());
      return "let in";
    } catch (error) {
      return (error as WireError).code;
    }
  };
  const coordinates = (caller: string, cluster: string, term: number): string =>
    asked(`server/${caller}`, (offices, socket) => offices.coordinator(socket, cluster, term));
  const stands = (caller: string, cluster: string): string =>
    asked(`server/${caller}`, (offices, socket) => offices.candidate(socket, caller, cluster));

  it("a server coordinates a term only if the vote here is its own for that term", () => {
    expect(coordinates("a", "c1", 5)).toBe("let in");
    expect(coordinates("b", "c1", 5)).toBe("tc_forbidden");
    for (const term of [6, 2 ** 32, ABSURD]) {
      expect(coordinates("a", "c1", term)).toBe("tc_forbidden");
      expect(coordinates("b", "c1", term)).toBe("tc_forbidden");
    }
  });

  it("a server coordinates a term that it is observed to lead, even if a restarted server may not vote for it yet", () => {
    observed = { leaderId: "b", term: 7 };
    expect(coordinates("b", "c1", 7)).toBe("let in");
    expect(coordinates("a", "c1", 7)).toBe("tc_forbidden");
    expect(coordinates("b", "c1", 8)).toBe("tc_forbidden");
  });

  it("an elector may ask with a lower term, which the terms obeyed before decide on", () => {
    expect(coordinates("b", "c1", 4)).toBe("let in");
  });

  it("active members, unknown servers, clients and other clusters coordinate nothing", () => {
    for (const caller of ["d", "stranger", "constructor"])
      for (const term of [1, 5, ABSURD]) expect(coordinates(caller, "c1", term)).toBe("tc_forbidden");
    expect(coordinates("a", "c2", 5)).toBe("tc_forbidden");
    expect(asked("tc/a", (offices, socket) => offices.coordinator(socket, "c1", 5))).toBe(
      "tc_server_required",
    );
  });

  it("no server coordinates while this server has no cluster or has not voted", () => {
    vote = null;
    expect(coordinates("a", "c1", 1)).toBe("tc_forbidden");
    config = null;
    expect(coordinates("a", "c1", 5)).toBe("tc_unavailable");
  });

  it("only electors, active members and the server itself change the registry", () => {
    const registers = (caller: string, kind: "register" | "unregister", endpoint = "https://d:1"): string =>
      asked(`server/${caller}`, (offices, socket) => offices.registrar(socket, { kind, endpoint }));
    for (const kind of ["register", "unregister"] as const) {
      for (const caller of ["a", "d", "self"]) expect(registers(caller, kind)).toBe("let in");
      for (const caller of ["stranger", "gone", "constructor"])
        expect(registers(caller, kind)).toBe("tc_forbidden");
    }
    expect(registers("gone", "unregister", "https://gone:1")).toBe("let in");
    expect(registers("gone", "register", "https://gone:1")).toBe("tc_forbidden");
    // Without an electorate the members that have announced themselves count.
    config = null;
    expect(registers("a", "register")).toBe("tc_forbidden");
    expect(registers("d", "register")).toBe("let in");
  });

  it("members and clients read the registry, and other servers do not", () => {
    const reads = (caller: string): string => asked(caller, (offices, socket) => offices.reader(socket));
    for (const caller of ["server/a", "server/d", "server/self", "tc/clerk"])
      expect(reads(caller)).toBe("let in");
    expect(reads("server/stranger")).toBe("tc_forbidden");
    expect(reads("sdk/program")).toBe("tc_client_required");
  });

  it("a server may announce itself to its own cluster, or if either side has none", () => {
    const announces = (cluster: string | null): string =>
      asked("server/d", (offices, socket) => void offices.announcer(socket, cluster));
    expect([announces("c1"), announces(null)]).toEqual(["let in", "let in"]);
    expect(announces("c2")).toBe("tc_forbidden");
    config = null;
    expect(announces("c2")).toBe("let in");
  });

  it("only electors and active members may ask for a lease", () => {
    expect(stands("a", "c1")).toBe("let in");
    expect(stands("d", "c1")).toBe("let in");
    expect(stands("stranger", "c1")).toBe("tc_forbidden");
    active = [];
    expect(stands("d", "c1")).toBe("tc_forbidden");
    // The voter refuses these by name, or knows nothing against them.
    expect(stands("stranger", "c2")).toBe("let in");
    config = null;
    expect(stands("stranger", "c1")).toBe("let in");
  });
});
