/** An unreadable entry (damaged or of a newer format) affects its own group only, until it is repaired. */
import { expect, test } from "vitest";
import { encodeHistory, encodeRecord } from "../codec.js";
import { BackendUnavailableError } from "../errors.js";
import type { MemoryStore } from "../store/memory-store.js";
import { A, B, failureOf, inWorld, type World, wonBy } from "./world.test-kit.js";

async function put(w: World, store: MemoryStore, key: string, value: string): Promise<void> {
  const expected = (await w.entry(key))?.revision ?? null;
  await store.compareAndSet([{ key, expected, value }]);
}

test.each(["r/g", "h/g"])("a wait ends with BACKEND_UNAVAILABLE at its end while %s cannot be read", (key) =>
  inWorld(async (w) => {
    const { elector } = w.server();
    await elector.campaign({ ...A, ttlMs: 30_000 });
    await w.clock.advance(10);
    const failure = failureOf(elector.campaign({ ...B, waitMs: 1000 }));
    await w.clock.advance(10);
    await put(w, w.truth, key, "{");
    const { value, tookMs } = await w.until(failure);
    expect(value).toBeInstanceOf(BackendUnavailableError);
    expect(tookMs).toBeLessThanOrEqual(1100);
  })(),
);

test.each(["r/g", "h/g"])(
  "a waiting campaign wins the lease that expired while %s could not be read, once it is readable",
  (key) =>
    inWorld(async (w) => {
      const { elector } = w.server();
      await elector.campaign(A);
      await w.clock.advance(10);
      const record = await w.record();
      const history = await w.history();
      const waiting = elector.campaign({ ...B, waitMs: 60_000 });
      await w.clock.advance(10);
      await put(w, w.truth, key, "{");
      await w.clock.advance(5000);
      await put(
        w,
        w.truth,
        key,
        key === "r/g" ? encodeRecord(record) : encodeHistory({ events: history, acts: [] }),
      );
      const { value, tookMs } = await w.until(waiting);
      expect(wonBy(value)).toBe("b");
      expect(tookMs).toBeLessThanOrEqual(1100);
    })(),
);
