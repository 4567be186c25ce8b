import { UnauthorizedError } from "@tenure/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NotLeadingError } from "./errors.js";
import { out, refused } from "./scripted-elector.test-kit.js";
import { failureOf, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

describe("lead", () => {
  test("runs the work while leading, resolves with its result, and gives the lease back", async () => {
    const a = world.scripted("a", { bare: true, deleteOnStop: false });
    const result = a.election.lead(async ({ term, nodeId, signal }) => {
      await new Promise<void>((resolve) => a.clock.after(2500, resolve));
      expect(signal.aborted).toBe(false);
      return `${nodeId} in ${term}`;
    });
    expect((await world.until(result)).value).toBe("a in 1");
    expect(a.elector.made("resign").length).toBe(1);
    expect(a.election.status().state).toEqual({ kind: "stopped" });
    expect((await world.operator.leader("g")).leader).toBe(null);
  });

  test.each([
    ["rejects", () => Promise.reject(new Error("broken"))],
    [
      "throws at once",
      () => {
        throw new Error("broken");
      },
    ],
  ])("work that %s while it leads ends the election with that", async (_how, work) => {
    const a = world.scripted("a", { bare: true });
    const failure = failureOf(a.election.lead(work));
    expect((await world.until(failure, 5000)).value).toMatchObject({ message: "broken" });
    expect(a.elector.made("resign").length).toBe(1);
  });

  test("a leadership lost in the middle runs the work again at the next one; what failed then is reported", async () => {
    const a = world.scripted("a", { bare: true });
    const failures: unknown[] = [];
    const reading = (async () => {
      for await (const event of a.election.changes())
        if (event.kind === "hook-failed") failures.push(event.error);
    })();
    const terms: number[] = [];
    const result = a.election.lead(async ({ term, signal }) => {
      terms.push(term);
      if (term === 3) return "done";
      a.elector.always(out, "renew");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      a.elector.mend();
      if (term === 2) throw new Error("not by the signal");
      return "too late";
    });
    expect((await world.until(result)).value).toBe("done");
    expect(terms).toEqual([1, 2, 3]);
    await reading;
    expect(failures).toMatchObject([{ message: "not by the signal" }]);
  });

  test("work that ends after the deadline, before any timer could tell, has not led", async () => {
    const a = world.distant("a", { bare: true });
    let runs = 0;
    let finish = (): void => {};
    const result = a.election.lead(async () => {
      runs += 1;
      if (runs === 1) await new Promise<void>((resolve) => (finish = resolve));
      return runs;
    });
    await world.clock.advance(500);
    a.clock.pause();
    await world.clock.advance(3000);
    a.clock.resume();
    finish();
    expect((await world.until(result)).value).toBe(2);
  });

  test("stopped before its work has ended it rejects, after that has ended", async () => {
    const a = world.participant("a", { bare: true });
    let ended = false;
    const result = failureOf(
      a.election.lead(async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        await new Promise<void>((resolve) => a.clock.after(100, resolve));
        ended = true;
      }),
    );
    await world.clock.advance(10);
    await world.until(a.election.stop());
    expect(ended).toBe(true);
    expect(await result).toBeInstanceOf(NotLeadingError);
  });

  test("an election that fails makes it fail with the same error", async () => {
    const a = world.scripted("a", { bare: true });
    a.elector.next("campaign", refused(new UnauthorizedError("no")));
    expect(await failureOf(a.election.lead(async () => 1))).toBeInstanceOf(UnauthorizedError);
    const b = world.scripted("b", { bare: true, retry: { maxAttempts: 2 } });
    b.elector.always(out, "campaign");
    const { value } = await world.until(failureOf(b.election.lead(async () => 1)));
    expect(value).toMatchObject({ code: "ATTEMPTS_EXHAUSTED" });
  });
});
