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

describe("by its office a server", () => {
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

  it("coordinates a term only if the vote here is its own for that term", () => {
    expect(coordinates("a", "c1", 5)).toBe("let in");
    expect(coordinates("b", "c1", 5)).toBe("tc_forbidden");
    for (const term of [6, 2 ** 32, ABSURD]) {
      expect(coordinates("a", "c1", term)).toBe("tc_forbidden");
      expect(coordinates("b", "c1", term)).toBe("tc_forbidden");
    }
  });

  it("coordinates a term that it is observed to lead, though a restarted server may not vote for it yet", () => {
    observed = { leaderId: "b", term: 7 };
    expect(coordinates("b", "c1", 7)).toBe("let in");
    expect(coordinates("a", "c1", 7)).toBe("tc_forbidden");
    expect(coordinates("b", "c1", 8)).toBe("tc_forbidden");
  });

  it("may ask with a lower term as an elector: what was obeyed before decides then", () => {
    expect(coordinates("b", "c1", 4)).toBe("let in");
  });

  it("coordinates nothing as an active member, as a stranger, as a client or from another cluster", () => {
    for (const caller of ["d", "stranger", "constructor"])
      for (const term of [1, 5, ABSURD]) expect(coordinates(caller, "c1", term)).toBe("tc_forbidden");
    expect(coordinates("a", "c2", 5)).toBe("tc_forbidden");
    expect(asked("tc/a", (offices, socket) => offices.coordinator(socket, "c1", 5))).toBe(
      "tc_server_required",
    );
  });

  it("is refused while the server that is asked has no cluster or has voted for nobody", () => {
    vote = null;
    expect(coordinates("a", "c1", 1)).toBe("tc_forbidden");
    config = null;
    expect(coordinates("a", "c1", 5)).toBe("tc_unavailable");
  });

  it("changes the registry as an elector, an active member or the server that is asked, and as nobody else", () => {
    const registers = (caller: string, kind: "register" | "unregister", endpoint = "https://d:1"): string =>
      asked(`server/${caller}`, (offices, socket) => offices.registrar(socket, { kind, endpoint }));
    for (const kind of ["register", "unregister"] as const) {
      for (const caller of ["a", "d", "self"]) expect(registers(caller, kind)).toBe("let in");
      for (const caller of ["stranger", "gone", "constructor"])
        expect(registers(caller, kind)).toBe("tc_forbidden");
    }
    expect(registers("gone", "unregister", "https://gone:1")).toBe("let in");
    expect(registers("gone", "register", "https://gone:1")).toBe("tc_forbidden");
    // Without an electorate those are members that have announced themselves.
    config = null;
    expect(registers("a", "register")).toBe("tc_forbidden");
    expect(registers("d", "register")).toBe("let in");
  });

  it("reads the registry as a member, and a client reads it in any case", () => {
    const reads = (caller: string): string => asked(caller, (offices, socket) => offices.reader(socket));
    for (const caller of ["server/a", "server/d", "server/self", "tc/clerk"])
      expect(reads(caller)).toBe("let in");
    expect(reads("server/stranger")).toBe("tc_forbidden");
    expect(reads("sdk/program")).toBe("tc_client_required");
  });

  it("announces itself to servers of its own cluster, or of none on either side", () => {
    const announces = (cluster: string | null): string =>
      asked("server/d", (offices, socket) => void offices.announcer(socket, cluster));
    expect([announces("c1"), announces(null)]).toEqual(["let in", "let in"]);
    expect(announces("c2")).toBe("tc_forbidden");
    config = null;
    expect(announces("c2")).toBe("let in");
  });

  it("asks for a lease as an elector or an active member, and as nobody else", () => {
    expect(stands("a", "c1")).toBe("let in");
    expect(stands("d", "c1")).toBe("let in");
    expect(stands("stranger", "c1")).toBe("tc_forbidden");
    active = [];
    expect(stands("d", "c1")).toBe("tc_forbidden");
    // The voter refuses these by name, or has nothing to refuse them by.
    expect(stands("stranger", "c2")).toBe("let in");
    config = null;
    expect(stands("stranger", "c1")).toBe("let in");
  });
});
