import { startNats } from "@tenure/engines";
import { clusterSuite, serviceSuite } from "./engine-suite.test-kit.js";

serviceSuite({ engine: "nats", start: () => startNats() });

// The system's release compares wrongly in a replicated bucket. A server that misses its leader waits 4 to 9 s before it
// stands for election, by constants of nats-server: no client can be served sooner.
clusterSuite({
  engine: "newer nats",
  start: () => startNats({ nodes: 3, replicas: 3, release: "newer" }),
  backWithinMs: 10_000,
});
