import { DEFAULT_POLICY } from "@tenure/core";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { paintFor } from "../frame/text.js";
import { draw, type Screen } from "./draw.js";
import type { GroupDetail } from "./pages.js";
import { FIRST_VIEW, type Row, type View } from "./state.js";

const PLAIN = paintFor(false, {});
const HEALTH = { target: "http://127.0.0.1:7420", roundTripMs: 2, problem: null };

const rows = fc.array(
  fc.record<Row>({
    groupId: fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 40 }),
    leader: fc.option(fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 40 })),
    term: fc.nat(),
    leftMs: fc.option(fc.integer({ min: -1e6, max: 1e8 })),
    fullMs: fc.nat(),
    changesPerHour: fc.option(fc.nat(64)),
    members: fc.option(fc.nat(256)),
    state: fc.constantFrom("led", "vacant", "never led", "paused", "deposed", "held back", "flapping"),
  }),
  { maxLength: 60 },
);

const pages = fc.constantFrom("list", "group", "help");
const DETAIL: GroupDetail = {
  group: {
    groupId: "g",
    explicit: true,
    policy: DEFAULT_POLICY,
    allowedNodes: null,
    leader: { nodeId: "a-node-with-a-long-name.example", term: 7, expiresAtMs: 5000 },
    leaseTtlMs: 9000,
    term: 7,
    pausedForMs: "until-resumed",
    pause: { by: "jane", reason: "a long reason, longer than a narrow screen", sinceMs: 0 },
    bans: [{ nodeId: "node-1", forMs: 1000, by: "jane", reason: null }],
    heldBack: { by: "deposed", forMs: 5000 },
  },
  members: Array.from({ length: 9 }, (_, index) => ({
    nodeId: `node-${index}`,
    role: "candidate" as const,
    ready: index % 2 === 0,
    lastHeartbeatMs: 0,
  })),
  history: {
    acts: [{ number: 1, act: "pause", by: "jane", reason: "disk", tsMs: 19_500, term: 20 }],
    events: Array.from({ length: 20 }, (_, index) => ({
      number: index + 1,
      type: "LEADER_CHANGED" as const,
      term: index + 1,
      leaderNodeId: `node-${index}`,
      previousLeaderNodeId: null,
      reason: "none" as const,
      tsMs: 1000 * index,
    })),
  },
  nowMs: 1000,
};

it("top never draws past the edges of the screen, whatever its size", () => {
  const size = fc.record({
    columns: fc.integer({ min: 1, max: 200 }),
    rows: fc.integer({ min: 1, max: 60 }),
  });
  fc.assert(
    fc.property(rows, size, fc.nat(100), pages, (some, { columns, rows: lines }, selected, page) => {
      const view: View = {
        ...FIRST_VIEW,
        selected,
        offset: selected,
        page,
        groupId: page === "list" ? null : "g",
      };
      const screen: Screen = { rows: some, view, health: HEALTH, time: "now", detail: DETAIL };
      const drawn = draw(screen, { columns, rows: lines }, PLAIN);
      expect(drawn.length).toBe(lines < 4 ? Math.min(lines, 4) : lines);
      for (const line of drawn) expect(line.length).toBeLessThanOrEqual(columns);
    }),
  );
});

const one: Row = {
  groupId: "billing",
  leader: "worker-1",
  term: 3,
  leftMs: 2500,
  fullMs: 5000,
  changesPerHour: 4,
  members: 2,
  state: "led",
};

function drawn(row: Row, columns: number, problem: string | null = null): string[] {
  const screen: Screen = {
    rows: [row],
    view: FIRST_VIEW,
    health: { ...HEALTH, problem },
    time: "now",
    detail: null,
  };
  return draw(screen, { columns, rows: 8 }, PLAIN);
}

it("top shows the time left of a lease as a bar", () => {
  expect(drawn(one, 90)[3]).toMatch(/^billing +led +worker-1 +3 █████░░░░░ 2\.5s +4 +2$/);
  expect(drawn({ ...one, leftMs: -1 }, 90)[3]).toContain("░░░░░░░░░░ expired");
  expect(drawn({ ...one, state: "vacant", leader: null, leftMs: null }, 90)[3]).toMatch(
    /^billing +vacant +- +3 +4 +2$/,
  );
});

it("top shows the state of a group in a column that a long leader does not displace", () => {
  const long = { ...one, leader: "ip-10-0-0-1.eu-central-1.compute.internal" };
  expect(drawn({ ...long, state: "paused" }, 90)[3]).toMatch(/^billing +paused +ip-10-.*…/);
  expect(drawn({ ...long, state: "held back" }, 90)[3]).toMatch(/^billing +held back +ip-10-.*…/);
});

it("top paints a row by its state, and leaves a group that is led unpainted", () => {
  const paint = paintFor(true, {});
  const view = { ...FIRST_VIEW, selected: 2 };
  const rowsOf = (state: Row["state"]): Row[] => [{ ...one, state }, one, { ...one, groupId: "zzz" }];
  const line = (state: Row["state"]): string =>
    draw(
      { rows: rowsOf(state), view, health: HEALTH, time: "now", detail: null },
      { columns: 90, rows: 8 },
      paint,
    )[3] ?? "";
  expect(line("flapping").startsWith("\u001B[35m")).toBe(true);
  expect(line("vacant").startsWith("\u001B[31m")).toBe(true);
  expect(line("led").startsWith("billing")).toBe(true);
});

it("top shows the members, the events and the state of the group that is opened", () => {
  const screen: Screen = {
    rows: [one],
    view: { ...FIRST_VIEW, page: "group", groupId: "g" },
    health: HEALTH,
    time: "now",
    detail: DETAIL,
  };
  const lines = draw(screen, { columns: 100, rows: 30 }, PLAIN);
  expect(lines[2]).toBe("g");
  expect(lines.join("\n")).toMatch(
    /^state +paused\n.*\n.*\npaused +until resumed, by jane since .*: "a long reason, longer than a narrow …$/m,
  );
  expect(lines.join("\n")).toMatch(/^node-0 +candidate +ready +1s ago$/m);
  // The newest event first.
  expect(lines.join("\n")).toMatch(/^TIME.*\n.* paused +- +20 +by jane: "disk"\n.* elected +node-19 +20/m);
});

it("top leaves out columns on a narrow screen, names last", () => {
  expect(drawn(one, 90)[2]).toContain("MEMBERS");
  expect(drawn(one, 60)[2]).not.toContain("MEMBERS");
  expect(drawn(one, 30)[2]).toMatch(/^GROUP +STATE +LEADER *$/);
});

it("top keeps the last state and says so if no server answers", () => {
  const lines = drawn(one, 90, "no response: gone");
  expect(lines[1]).toBe("no response: gone");
  expect(lines[3]).toContain("billing");
});
