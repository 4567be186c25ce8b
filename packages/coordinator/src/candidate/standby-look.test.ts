import type { Elector, WatchEvent, WatchOptions } from "@tenure/core";
import { unlessAborted } from "@tenure/core/internal";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Cluster } from "./cluster.test-kit.js";

/** An elector whose watch delivers the state, and no later event. */
function deaf(behind: Elector): Elector {
  async function* watch(groupId: string, options: WatchOptions): AsyncGenerator<WatchEvent> {
    for await (const event of behind.watch(groupId, options)) {
      yield event;
      await unlessAborted(options.signal, new Promise(() => {}));
    }
  }
  return new Proxy(behind, {
    get(target, name: keyof Elector) {
      if (name === "watch") return watch;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

let cluster: Cluster;
beforeEach(() => {
  cluster = new Cluster();
});
afterEach(() => cluster.close());

describe("a standby with a silent watch", () => {
  test("a standby with a silent watch takes over when its own read shows a vacancy, after the takeover delay", async () => {
    const options = { ttlMs: 2000, takeoverDelayMs: 1000, electionIntervalMs: 1000 };
    const a = cluster.node("a", options);
    await cluster.clock.advance(500);
    const b = cluster.node("b", options, deaf);
    await cluster.clock.advance(5000);
    expect(b.candidate.isCoordinator()).toBe(false);
    a.clock.kill();
    // The lease lasts 2020 ms, renewed at most a heartbeat (400 ms) before; then comes the delay.
    await cluster.clock.advance(2020 - 400 + 1000 - 10);
    expect(b.candidate.isCoordinator()).toBe(false);
    // It reads every second.
    await cluster.clock.advance(400 + 1000 + 60);
    expect(b.candidate.isCoordinator()).toBe(true);
  });
});
