/** An attacker as a separate process: it attacks until it is asked to end, and reports what it did. */
import { setMaxListeners } from "node:events";
import { attacks } from "./attacks.test-kit.js";
import type { AttackMessage, AttackName, AttackOptions } from "./messages.test-kit.js";
import { Target } from "./target.test-kit.js";

const options = JSON.parse(process.argv[2] ?? "") as AttackOptions;
const ending = new AbortController();
setMaxListeners(0, ending.signal);
const target = new Target(options, ending.signal);
const chosen = Object.entries(options.attacks) as [AttackName, number][];
let underWay = 0;

function send(message: AttackMessage): void {
  process.send?.(message);
}

function attacking(): void {
  if (++underWay === chosen.length) send({ kind: "attacking" });
}

process.on("message", () => ending.abort());
process.on("disconnect", () => process.exit());
await Promise.all(chosen.map(([name, count]) => attacks[name](target, count, attacking)));
target.close();
const { user, system } = process.cpuUsage();
target.count("cpu ms", Math.round((user + system) / 1000));
send({ kind: "report", counts: target.counts });
process.disconnect();
