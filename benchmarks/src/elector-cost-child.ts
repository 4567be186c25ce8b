/** Started by elector-cost.ts with `--expose-gc`: a process of its own, without the garbage of other benchmarks. */
import { measure } from "./elector-cost.js";

console.log(JSON.stringify(await measure()));
