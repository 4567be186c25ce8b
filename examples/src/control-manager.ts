/**
 * A control manager: any number of copies run, and one of them works. SIGTERM ends its work, then hands over.
 *
 *     node examples/dist/control-manager.js a     # and b in another terminal; stop either with Ctrl-C or kill -9
 */
import { once } from "node:events";
import { setInterval as ticks } from "node:timers/promises";
import { Election, openElector } from "@tenure/client";

const [nodeId = `manager-${process.pid}`] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);

const elector = await openElector(process.env["TENURE_SERVER"] ?? "http://127.0.0.1:7420");
const election = new Election(elector, { groupId: "control-manager", nodeId, ttlMs: 5_000 });

election
  .onPromote(async ({ term }, signal) => {
    say(`leads in term ${term}`);
    let rounds = 0;
    try {
      // Each round is short, and the signal ends the wait for the next.
      for await (const _ of ticks(100, undefined, { signal })) rounds += 1;
    } finally {
      say(`worked ${rounds} rounds`);
    }
  })
  .onDemote((reason) => say(`no longer leads: ${reason}`))
  .onLeaderChange((leader) => say(`sees ${leader.nodeId ?? "no node"} lead`));

await election.start();
await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
await election.stop({ timeoutMs: 10_000 });
await elector.close();
say("has ended");
