import { InvalidRequestError } from "@tenure/core";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StaleTermError } from "../errors.js";
import { MemoryTermCell, type TermCell } from "./term-cell.js";
import { TermGate } from "./term-gate.js";

const openGate = (cell: TermCell = new MemoryTermCell()): TermGate => new TermGate({ cell });

describe("TermGate", () => {
  test("a term gate admits the first term, the same again and later ones, and returns stale for earlier ones", async () => {
    const gate = openGate();
    for (const term of [3, 3, 5, 5]) {
      expect(await gate.admit({ groupId: "g", term })).toEqual({ kind: "admitted", groupId: "g", term });
    }
    const stale = { kind: "stale", groupId: "g", term: 4, highestTerm: 5 };
    expect(await gate.admit({ groupId: "g", term: 4 })).toEqual(stale);
    expect(await gate.admit({ groupId: "other", term: 1 })).toMatchObject({ kind: "admitted" });
    expect(await gate.highestTerm("g")).toBe(5);
    expect(await gate.highestTerm("never")).toBe(0);
  });

  test("a term gate names the highest term in the error, if an error is requested", async () => {
    const gate = openGate();
    await gate.admitOrThrow({ groupId: "g", term: 8 });
    const error: unknown = await gate.admitOrThrow({ groupId: "g", term: 7 }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(StaleTermError);
    expect(error).toMatchObject({ code: "STALE_TERM", groupId: "g", term: 7, highestTerm: 8 });
    expect((error as Error).message).toBe("term 7 of group g is over: term 8 has been admitted");
  });

  test("a term gate shares admitted terms with every other gate over the same cell", async () => {
    const cell = new MemoryTermCell();
    const [a, b] = [openGate(cell), openGate(cell)];
    await b.admitOrThrow({ groupId: "g", term: 1 });
    await a.admitOrThrow({ groupId: "g", term: 2 });
    expect(await b.admit({ groupId: "g", term: 1 })).toMatchObject({ kind: "stale", highestTerm: 2 });
  });

  test("a term gate admits no term below one that it has admitted, in whatever order the cell answers", async () => {
    const claims = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), claims, async (scheduler, terms) => {
        const inner = new MemoryTermCell();
        const slow = scheduler.scheduleFunction(async (groupId: string, term: number) => {
          const highest = await inner.raise(groupId, term);
          return highest;
        });
        const answers = scheduler.scheduleFunction(async (highest: number) => highest);
        const gate = openGate({
          read: (groupId) => inner.read(groupId),
          raise: async (groupId, term) => answers(await slow(groupId, term)),
        });
        let admitted = 0;
        const all = terms.map(async (term) => {
          const { kind } = await gate.admit({ groupId: "g", term });
          if (kind !== "admitted") return;
          expect(term).toBeGreaterThanOrEqual(admitted);
          admitted = term;
        });
        await scheduler.waitIdle();
        await Promise.all(all);
        expect(admitted).toBe(Math.max(...terms));
      }),
    );
  });

  test("a term gate admits no term when its cell fails or returns an invalid term", async () => {
    const failing = new Error("disk full");
    const broken: (() => Promise<number>)[] = [
      () => Promise.reject(failing),
      async () => 4,
      async () => Number.NaN,
      async () => 5.5,
      async () => undefined as unknown as number,
      async () => "5" as unknown as number,
    ];
    for (const raise of broken) {
      const gate = openGate({ read: raise, raise });
      await expect(gate.admit({ groupId: "g", term: 5 })).rejects.toMatchObject({
        code: "FENCE_UNAVAILABLE",
      });
    }
    const gate = openGate({ read: () => Promise.reject(failing), raise: () => Promise.reject(failing) });
    await expect(gate.highestTerm("g")).rejects.toMatchObject({ cause: failing });
  });

  test("a term gate refuses a term below one that it has seen, even if its cell has lost it", async () => {
    let highest = 9;
    const gate = openGate({ read: async () => highest, raise: async (_, term) => Math.max(highest, term) });
    expect(await gate.highestTerm("g")).toBe(9);
    highest = 0;
    expect(await gate.admit({ groupId: "g", term: 8 })).toMatchObject({ kind: "stale", highestTerm: 9 });
  });

  test("a signal ends the wait of a term gate", async () => {
    const gate = openGate({ read: () => new Promise(() => {}), raise: () => new Promise(() => {}) });
    const abort = new AbortController();
    const waiting = gate.admit({ groupId: "g", term: 1 }, { signal: abort.signal });
    const reason = new Error("enough");
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(gate.highestTerm("g", { signal: abort.signal })).rejects.toBe(reason);
  });

  test("a term gate refuses invalid claims and options", async () => {
    const gate = openGate();
    for (const term of [0, -1, 1.5, Number.NaN, 2 ** 53, "3" as unknown as number]) {
      await expect(gate.admit({ groupId: "g", term })).rejects.toThrow("term must be a whole number");
    }
    for (const groupId of ["", "a b", "..", "x".repeat(201)]) {
      await expect(gate.admit({ groupId, term: 1 })).rejects.toBeInstanceOf(InvalidRequestError);
    }
    expect(() => openGate({} as TermCell)).toThrow("cell must be a TermCell");
    expect(() => new TermGate({ cell: new MemoryTermCell(), ttl: 1 } as never)).toThrow(
      "ttl is not known here",
    );
  });
});
