/** Started by elector-cost.ts with `--expose-gc`: `elector-cost-child.js GROUPS`. */
import { measure } from "./elector-cost.js";

console.log(JSON.stringify(await measure(Number(process.argv[2]))));
