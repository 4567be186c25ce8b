import { startPostgres } from "@tenure/engines";
import { serviceSuite } from "./engine-suite.test-kit.js";

serviceSuite({ engine: "postgres", start: () => startPostgres() });
