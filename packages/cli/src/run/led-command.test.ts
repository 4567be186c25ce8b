import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Election } from "@tenure/client";
import { MemoryStore, type ResignRequest, sleep, StoreElector, systemClock } from "@tenure/core";
import { afterAll, expect, it } from "vitest";
import { Scratch } from "../scratch.test-kit.js";
import { LeadershipHooks } from "./leadership-hooks.js";
import { LedCommand } from "./led-command.js";
import { isAlive } from "./run-process.test-kit.js";

const scratch = new Scratch();
afterAll(() => scratch.close());

it("the lease is resigned only when the command is dead, even after another error", async () => {
  const file = join(scratch.directory(), "pid");
  await using elector = StoreElector.open({ store: new MemoryStore() });
  const aliveAtResign: boolean[] = [];
  const watched = new Proxy(elector, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "resign") return value.bind(target) as unknown;
      return (request: ResignRequest) => {
        aliveAtResign.push(isAlive(Number(readFileSync(file, "utf8"))));
        return target.resign(request);
      };
    },
  });
  const command = new LedCommand({
    election: new Election(watched, { groupId: "g", nodeId: "a", ttlMs: 5000 }),
    file: "sh",
    args: ["-c", `trap '' TERM; echo $$ >${file}.new; mv ${file}.new ${file}; while :; do sleep 1000; done`],
    env: process.env,
    restart: false,
    exitWhenLost: false,
    stopSignal: "SIGTERM",
    graceMs: 60_000,
    killMarginMs: 250,
    tellEveryMs: 250,
    restartDelayMs: 0,
    clock: systemClock,
    once: false,
    running: async () => {
      while (!existsSync(file)) await sleep(systemClock, 5);
      throw new Error("the disk is full");
    },
    ended: async () => {},
    hooks: new LeadershipHooks({
      onWin: undefined,
      onLose: undefined,
      timeoutMs: 1000,
      env: process.env,
      killMarginMs: 250,
      tellEveryMs: 250,
      clock: systemClock,
      failed: () => {},
    }),
    teller: {
      notice: () => {},
      elected: () => {},
      lost: () => {},
      stopping: () => {},
      killing: () => {},
      exited: () => {},
    },
  });
  await expect(command.run(new AbortController().signal)).rejects.toThrow("the disk is full");
  expect(aliveAtResign).toEqual([false]);
});
