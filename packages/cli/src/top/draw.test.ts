import * as fc from "fast-check";
import { expect, it } from "vitest";
import { paintFor } from "../frame/text.js";
import { draw, type Screen } from "./draw.js";
import { FIRST_VIEW, type Row } from "./state.js";

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
    isPaused: fc.boolean(),
    isHeldBack: fc.boolean(),
  }),
  { maxLength: 60 },
);

it("top never draws past the edges of the screen, whatever its size", () => {
  const size = fc.record({
    columns: fc.integer({ min: 1, max: 200 }),
    rows: fc.integer({ min: 1, max: 60 }),
  });
  fc.assert(
    fc.property(rows, size, fc.nat(100), (some, { columns, rows: lines }, offset) => {
      const screen: Screen = { rows: some, view: { ...FIRST_VIEW, offset }, health: HEALTH, time: "now" };
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
  isPaused: false,
  isHeldBack: false,
};

function drawn(row: Row, columns: number, problem: string | null = null): string[] {
  const screen: Screen = { rows: [row], view: FIRST_VIEW, health: { ...HEALTH, problem }, time: "now" };
  return draw(screen, { columns, rows: 8 }, PLAIN);
}

it("top shows the time left of a lease as a bar", () => {
  expect(drawn(one, 90)[3]).toMatch(/^billing +worker-1 +3 █████░░░░░ 2\.5 s +4 +2$/);
  expect(drawn({ ...one, leftMs: -1 }, 90)[3]).toContain("░░░░░░░░░░ expired");
  expect(drawn({ ...one, leader: null, leftMs: null }, 90)[3]).toMatch(/^billing +- +3 +4 +2$/);
});

it("top shows that a led group is paused or held back", () => {
  expect(drawn({ ...one, isHeldBack: true }, 120)[3]).toMatch(/^billing +worker-1 \(held back\) +3 /);
  expect(drawn({ ...one, isPaused: true, isHeldBack: true }, 120)[3]).toContain("(paused, held back)");
});

it("top leaves out columns on a narrow screen, names last", () => {
  expect(drawn(one, 90)[2]).toContain("MEMBERS");
  expect(drawn(one, 60)[2]).not.toContain("MEMBERS");
  expect(drawn(one, 30)[2]).toMatch(/^GROUP +LEADER +TERM$/);
});

it("top keeps the last state and says so if no server answers", () => {
  const lines = drawn(one, 90, "no response: gone");
  expect(lines[1]).toBe("no response: gone");
  expect(lines[3]).toContain("billing");
});
