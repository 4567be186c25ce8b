import { MemoryStore, StoreElector } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { expect, it } from "vitest";
import { Collector } from "./collector.js";

const TTL_MS = 60_000;

it("top shows no more of a lease than its ttl, even if clocks are misjudged", async () => {
  const clock = new VirtualClock();
  await using elector = StoreElector.open({ store: new MemoryStore(), clock });
  await elector.campaign({ groupId: "g", nodeId: "a", ttlMs: TTL_MS });
  const { signal } = new AbortController();
  const offsetMs = (): number => -500;
  const collector = new Collector({ elector, clock, target: "memory", signal, offsetMs });
  await collector.refresh();
  expect(collector.rows()).toMatchObject([{ groupId: "g", leftMs: TTL_MS, fullMs: TTL_MS }]);
  await clock.advance(TTL_MS / 2);
  const [row] = collector.rows();
  expect(row?.leftMs).toBeGreaterThan(TTL_MS / 2);
  expect(row?.leftMs).toBeLessThan(TTL_MS / 2 + 2000);
});
