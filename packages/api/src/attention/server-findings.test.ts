import { describe, expect, it } from "vitest";
import { serverFindings, type StoreFacts, type Validity, type WriteTimes } from "./server-findings.js";

const NOW = Date.UTC(2026, 5, 1);
const DAY = 86_400_000;
const WELL: StoreFacts = { unreachableSinceMs: null, writes: null };

function found(certificate: Validity | null, store: StoreFacts = WELL): string[] {
  return serverFindings({ certificate, store }, NOW).map(({ kind, severity }) => `${kind} ${severity}`);
}

describe("the findings about a server", () => {
  it.each<[string, number, number, string[]]>([
    ["a year left of two", -365, 365, []],
    ["fifteen days left of a year", -350, 15, []],
    ["thirteen days left of a year", -352, 13, ["certificate_expiring warning"]],
    ["a day left of a year", -364, 1, ["certificate_expiring problem"]],
    ["expired", -365, -1, ["certificate_expiring problem"]],
    ["ten hours left of a day", -0.58, 0.42, []],
    ["six hours left of a day", -0.75, 0.25, ["certificate_expiring warning"]],
    ["two hours left of a day", -0.92, 0.08, ["certificate_expiring problem"]],
  ])("a certificate with %s is judged by its lifetime", (_, fromDays, untilDays, expected) => {
    expect(found({ fromMs: NOW + fromDays * DAY, untilMs: NOW + untilDays * DAY })).toEqual(expected);
  });

  it.each<[string, Partial<WriteTimes>, string[]]>([
    ["are fast", {}, []],
    ["are slow twice", { p99Ms: 400, slow: 2 }, []],
    ["are slow three times", { p99Ms: 400, slow: 3 }, ["store_slow warning"]],
    ["are slow less than once in a hundred", { p99Ms: 200, slow: 9, count: 1000 }, []],
    ["take as long as the elector waits", { p99Ms: 1010, slow: 3 }, ["store_slow problem"]],
  ])("a store whose writes %s is judged by the slowest hundredth", (_, times, expected) => {
    const writes = { count: 50, p99Ms: 5, slow: 0, slowSinceMs: NOW - 9000, ...times };
    expect(found(null, { ...WELL, writes })).toEqual(expected);
  });

  it("a store that does not answer is a problem", () => {
    const [finding] = serverFindings(
      { certificate: null, store: { ...WELL, unreachableSinceMs: NOW - 4000 } },
      NOW,
    );
    expect(finding).toMatchObject({ kind: "store_unreachable", severity: "problem", sinceMs: NOW - 4000 });
    expect(finding?.summary).toContain("has not answered this server for 4s");
  });
});
