import { startZookeeper } from "@tenure/engines";
import { clusterSuite, serviceSuite } from "./engine-suite.test-kit.js";

serviceSuite({ engine: "zookeeper", start: () => startZookeeper() });
clusterSuite({ engine: "zookeeper", start: () => startZookeeper({ nodes: 3 }) });
