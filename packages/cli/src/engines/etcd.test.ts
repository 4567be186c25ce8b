import { startEtcd } from "@tenure/engines";
import { clusterSuite, serviceSuite } from "./engine-suite.test-kit.js";

serviceSuite({ engine: "etcd", start: () => startEtcd() });
clusterSuite({ engine: "etcd", start: () => startEtcd({ nodes: 3 }) });
