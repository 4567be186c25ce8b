import { UnauthorizedError } from "@tenure/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ElectionStoppedError } from "./errors.js";
import { lead } from "./lead.js";
import { out, refused } from "./scripted-elector.test-kit.js";
import { failureOf, World } from "./world.test-kit.js";

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.close());

describe("lead", () => {
  test("lead runs the work while leading, resolves with its result and resigns the lease", async () => {
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
  ])("work that %s while it leads makes lead reject with that error", async (_how, work) => {
    const a = world.scripted("a", { bare: true });
    const failure = failureOf(a.election.lead(work));
    expect((await world.until(failure, 5000)).value).toMatchObject({ message: "broken" });
    expect(a.elector.made("resign").length).toBe(1);
  });

  test("lead runs the work again in the next term after a lost leadership, and reports failures of the lost run", async () => {
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

  test("work that ends after the deadline, before any timer has fired, is run again in the next term", async () => {
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

  test("a stop during the work makes lead reject with ElectionStoppedError, after the work has ended", async () => {
    const a = world.participant("a", { bare: true });
    let ended = false;
    const result = failureOf(
      a.election.lead(async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        await new Promise<void>((resolve) => a.clock.after(100, resolve));
        ended = true;
        throw signal.reason as Error;
      }),
    );
    await world.clock.advance(10);
    await world.until(a.election.stop());
    expect(ended).toBe(true);
    expect(await result).toBeInstanceOf(ElectionStoppedError);
    expect(await result).toMatchObject({ code: "ELECTION_STOPPED", cause: undefined });
  });

  test("a stop while following makes lead reject with ElectionStoppedError", async () => {
    const a = world.participant("a");
    await a.election.start();
    const b = world.participant("b", { bare: true });
    const result = failureOf(b.election.lead(async () => 1));
    await world.clock.advance(10);
    await world.until(b.election.stop());
    expect(await result).toBeInstanceOf(ElectionStoppedError);
    await world.until(a.election.stop());
  });

  test("lead resolves with the value that the work returns after an orderly stop", async () => {
    const a = world.participant("a", { bare: true });
    const result = a.election.lead(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return "saved";
    });
    await world.clock.advance(10);
    await world.until(a.election.stop());
    expect(await result).toBe("saved");
  });

  test("an error that the work throws after a stop is the cause of lead's ElectionStoppedError", async () => {
    const a = world.participant("a", { bare: true });
    const result = failureOf(
      a.election.lead(async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        throw new Error("disk full");
      }),
    );
    await world.clock.advance(10);
    await world.until(a.election.stop());
    expect(await result).toMatchObject({ code: "ELECTION_STOPPED", cause: { message: "disk full" } });
  });

  test("the signal of lead stops the election, and lead rejects with the signal's reason", async () => {
    const a = world.scripted("a", { bare: true });
    const leaving = new AbortController();
    const result = failureOf(
      a.election.lead(
        ({ signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason as Error)),
          ),
        { signal: leaving.signal },
      ),
    );
    await world.clock.advance(10);
    leaving.abort(new Error("enough"));
    expect((await world.until(result)).value).toMatchObject({ message: "enough" });
    expect(a.election.status().state).toEqual({ kind: "stopped" });
    expect(a.elector.made("resign").length).toBe(1);
  });

  test("lead can be called again when the first call has ended, and leads in a later term as another instance", async () => {
    const a = world.scripted("a", { bare: true });
    const work = async ({ term, instanceId }: { term: number; instanceId: string }) => [term, instanceId];
    const first = (await world.until(a.election.lead(work))).value;
    const second = (await world.until(a.election.lead(work))).value;
    expect([first[0], second[0]]).toEqual([1, 2]);
    expect(first[1]).not.toBe(second[1]);
  });

  test("lead beside onPromote, or while the election runs, is refused with a message that names lead", async () => {
    const a = world.participant("a");
    const { message } = (await failureOf(a.election.lead(async () => 1))) as Error;
    expect(message).toContain("lead runs its own work, and onPromote has a hook already");
    const b = world.participant("b", { bare: true });
    const first = b.election.lead(() => new Promise((resolve) => b.clock.after(100, () => resolve(1))));
    const refusal = (await failureOf(b.election.lead(async () => 1))) as Error;
    expect(refusal.message).toContain("lead starts the election, and it runs already");
    await world.until(first);
  });

  test("the function lead() makes an election for one piece of work", async () => {
    const { elector, clock } = world.scripted("unused", { bare: true });
    const options = { groupId: "g", nodeId: "a", ttlMs: 1000, clock };
    expect((await world.until(lead(elector, options, async ({ term }) => term))).value).toBe(1);
    expect((await world.operator.leader("g")).leader).toBe(null);
  });

  test("lead rejects with the error of an election that fails", async () => {
    const a = world.scripted("a", { bare: true });
    a.elector.next("campaign", refused(new UnauthorizedError("no")));
    expect(await failureOf(a.election.lead(async () => 1))).toBeInstanceOf(UnauthorizedError);
    const b = world.scripted("b", { bare: true, retry: { maxAttempts: 2 } });
    b.elector.always(out, "campaign");
    const { value } = await world.until(failureOf(b.election.lead(async () => 1)));
    expect(value).toMatchObject({ code: "ATTEMPTS_EXHAUSTED" });
  });
});
