import { VirtualClock } from "@tenure/core/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SelfRegistration } from "./self-registration.js";

describe("self-registration as a resource manager", () => {
  let clock: VirtualClock;
  let targets: readonly string[];
  let told: string[];
  let away: Set<string>;
  let failures: string[];
  let has: Set<string>;
  let isWanted: boolean;
  let registration: SelfRegistration;
  beforeEach(() => {
    clock = new VirtualClock();
    targets = ["a", "b"];
    [told, failures] = [[], []];
    [away, has] = [new Set(), new Set()];
    isWanted = true;
    registration = new SelfRegistration({
      clock,
      intervalMs: 3000,
      retryMs: 1000,
      targets: () => targets,
      register: async (endpoint) => {
        told.push(endpoint);
        if (away.has(endpoint)) throw new Error("away");
      },
      catchUp: async () => {
        told.push("catch up");
        return has;
      },
      isWanted: () => isWanted,
      onFailure: (endpoint) => failures.push(endpoint),
      onSuccess: () => {},
    });
    registration.start();
  });
  afterEach(() => registration.stop());

  it("a server registers itself at every member periodically, after it has caught up with them", async () => {
    await clock.advance(2999);
    expect(told).toEqual(["catch up", "a", "b"]);
    targets = ["a", "b", "c"];
    await clock.advance(1);
    expect(told.slice(3)).toEqual(["catch up", "a", "b", "c"]);
  });

  it("a server registers itself sooner again if a member did not confirm", async () => {
    away.add("b");
    await clock.advance(3000);
    told.length = 0;
    await clock.advance(1000);
    expect(told).toEqual(["catch up", "a", "b"]);
    expect(failures).toEqual(["b", "b"]);
    away.clear();
    await clock.advance(1000);
    told.length = 0;
    await clock.advance(2000);
    expect(told).toEqual([]);
  });

  it("a server does not register itself at a member that shows it as registered, which would cost n³ calls", async () => {
    has.add("a");
    await clock.advance(3000);
    told.length = 0;
    await clock.advance(3000);
    expect(told).toEqual(["catch up", "b"]);
  });

  it("a server does not register itself while it leaves", async () => {
    await clock.advance(2999);
    isWanted = false;
    told.length = 0;
    await clock.advance(3000);
    expect(told).toEqual(["catch up"]);
  });

  it("a stopped server no longer registers itself", async () => {
    await clock.advance(10);
    await registration.stop();
    told.length = 0;
    await clock.advance(10_000);
    expect(told).toEqual([]);
  });
});
