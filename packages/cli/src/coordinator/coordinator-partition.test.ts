/** A coordinator that is cut off from the others, on a network of namespaces, over etcd. */
import { type EtcdEngine, isMissing, startEtcd, TestNetwork } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CoordinatorProcess, overlaps } from "./coordinator-process.test-kit.js";

const MACHINES = ["m1", "m2", "m3"];
const OPTIONS = { ttlMs: 1500, takeoverDelayMs: 300, child: "process" } as const;

describe.skipIf(isMissing("etcd") || isMissing("ip"))(
  "a partition with the quorum of the store on one side",
  () => {
    let network: TestNetwork;
    let engine: EtcdEngine;
    const nodes: CoordinatorProcess[] = [];
    beforeAll(async () => {
      network = new TestNetwork(MACHINES);
      engine = await startEtcd({ nodes: 3, machines: MACHINES.map((name) => network.machine(name)) });
      for (const name of MACHINES) {
        const url = `${engine.url}/coordinator`;
        nodes.push(new CoordinatorProcess({ url, nodeId: name, ...OPTIONS }, network.inside(name)));
      }
      await Promise.all(nodes.map((node) => node.ready()));
    });
    afterAll(async () => {
      for (const node of nodes) await node.close();
      await engine?.stop();
      network?.close();
    });

    it("exactly one node coordinates during a partition, and the one cut off stops its children before another starts them", async () => {
      const first = await Promise.any(nodes.map((node) => node.startedAfter(0).then(() => node)));
      const { term } = first.spans[0] ?? { term: 0 };
      const others = nodes.filter((node) => node !== first);
      network.partition(
        [first.nodeId],
        others.map((node) => node.nodeId),
      );
      const second = await Promise.any(others.map((node) => node.startedAfter(term).then(() => node)));
      await first.heard(() => first.spans[0]?.stopped === true);
      const stoppedMs = first.spans[0]?.untilMs ?? 0;
      const startedMs = second.spans[0]?.fromMs ?? 0;
      console.log(`stopped ${Math.round(startedMs - stoppedMs)} ms before the other started`);
      expect(stoppedMs).toBeLessThan(startedMs);
      network.heal();
      // It follows again: it is the one left when the others stop.
      const third = others.find((node) => node !== second) as CoordinatorProcess;
      await third.end("SIGTERM");
      const { term: secondTerm } = second.spans[0] ?? { term: 0 };
      await second.end("SIGTERM");
      const last = await first.startedAfter(secondTerm);
      expect(last.term).toBe(secondTerm + 1);
      expect(overlaps(nodes.flatMap((node) => node.spans))).toEqual([]);
    });
  },
);
