/**
 * A command that ignores signals and has a grandchild is gone before another `tenure run` starts its own, whatever
 * happens to the first. The command itself looks, when it begins, whether anything of an earlier one is alive.
 */
import { isMissing, rounds, TestNetwork } from "@tenure/engines";
import { sleep, systemClock } from "@tenure/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RestartedServer } from "../restarted-server.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import { overlapsIn, RunProcess, survivorsIn } from "./run-process.test-kit.js";

const ROUNDS = rounds(2, 20);
const TTL = "700ms";

/** What happens to the leading node, and what is undone once another leads. */
interface Fault {
  strike(leader: RunProcess): Promise<void>;
  mend(leader: RunProcess): Promise<void>;
}

describe("the command of tenure run ends before another node starts one", () => {
  const scratch = new Scratch();
  const runs: RunProcess[] = [];
  let directory: string;
  beforeEach(() => {
    directory = scratch.directory();
  });
  afterEach(async () => {
    await Promise.all(runs.splice(0).map((run) => run.kill()));
    // Their guardians do that.
    await allGone();
    await scratch.close();
  });

  async function allGone(): Promise<void> {
    for (let look = 0; survivorsIn(directory).length > 0 && look < 500; look++) await sleep(systemClock, 10);
    expect(survivorsIn(directory)).toEqual([]);
  }

  async function contest(start: (nodeId: string) => RunProcess, faultOf: () => Fault): Promise<void> {
    const two = ["a", "b"].map((nodeId) => start(nodeId));
    runs.push(...two);
    let term = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const leader = await Promise.any(two.map((run) => run.runsAfter(term).then(() => run)));
      term = await leader.runsAfter(term);
      const fault = faultOf();
      await fault.strike(leader);
      if (!leader.isRunning) {
        const index = two.indexOf(leader);
        two[index] = start(leader.nodeId);
        runs.push(two[index]);
      }
      await Promise.any(two.map((run) => run.runsAfter(term)));
      await fault.mend(leader);
      expect(overlapsIn(directory)).toBe("");
    }
  }

  const nothing = async (): Promise<void> => {};

  async function onOneMachine(fault: (server: RestartedServer) => Fault): Promise<void> {
    const server = await RestartedServer.start(scratch, scratch.directory());
    const url = `http://127.0.0.1:${server.port}`;
    await contest(
      (nodeId) => new RunProcess({ server: url, nodeId, directory, ttl: TTL }),
      () => fault(server),
    );
  }

  it("a stubborn command is gone before another starts when tenure run is killed", () =>
    onOneMachine(() => ({ strike: (leader) => leader.kill(), mend: nothing })));

  it("a stubborn command is gone before another starts when tenure run is stopped", () =>
    onOneMachine(() => ({ strike: (leader) => leader.pause(), mend: async (leader) => leader.resume() })));

  it("a stubborn command is gone before another starts when the server is gone for longer than the lease", () =>
    onOneMachine((server) => ({
      async strike() {
        await server.end("SIGKILL");
        // It gets no message that its lease is over.
        await allGone();
        await server.killAndRestart();
      },
      mend: nothing,
    })));

  it("a stubborn command is gone before another starts when an operator makes the leader step down", () =>
    onOneMachine((server) => ({
      async strike() {
        const url = `http://127.0.0.1:${server.port}`;
        const { code, stderr } = await scratch.run(["step-down", "g", "--server", url]);
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      },
      mend: nothing,
    })));

  async function onAnother(before: (leader: RunProcess) => Promise<void>): Promise<void> {
    const network = new TestNetwork(["a", "b", "s"]);
    try {
      const host = network.host("s");
      const server = `http://${host}:7420`;
      const store = `embedded:${scratch.directory()}`;
      const args = ["--listen", `${host}:7420`, "--store", store, "--insecure", "--log-level", "warn"];
      await scratch.serve(args, {}, network.inside("s"));
      await contest(
        (nodeId) => new RunProcess({ server, nodeId, directory, ttl: TTL, inside: network.inside(nodeId) }),
        () => ({
          async strike(leader) {
            await before(leader);
            const others = ["a", "b", "s"].filter((name) => name !== leader.nodeId);
            network.partition([leader.nodeId], others);
          },
          mend: async () => network.heal(),
        }),
      );
      await Promise.all(runs.map((run) => run.kill()));
    } finally {
      network.close();
    }
  }

  it.skipIf(isMissing("ip"))(
    "a stubborn command is gone before another starts when its machine is cut off",
    () => onAnother(nothing),
  );

  it.skipIf(isMissing("ip"))(
    "a stubborn command is gone before another starts when its guardian is stopped too",
    () => onAnother((leader) => leader.pauseGuardian()),
  );
});
