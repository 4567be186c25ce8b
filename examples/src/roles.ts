/**
 * Many roles over a few processes. Each role is led by one process; the processes share the roles evenly, and a role stays with
 * the roles that it depends on: `index/2` runs only where `ingest/2` runs, begins after it and ends before it.
 *
 *     node examples/dist/roles.js a     # leads all eight roles
 *     node examples/dist/roles.js b     # in another terminal: takes over four of them
 *
 * Stop one with Ctrl-C: its roles move at once. Kill one with `kill -9`: they move when its leases have expired.
 */
import { once } from "node:events";
import { openElector } from "@tenure/client";
import { RoleManager } from "@tenure/client/roles";

const [nodeId = `node-${process.pid}`] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);

const elector = await openElector(process.env["TENURE_SERVER"] ?? "http://127.0.0.1:7420");
const roles = new RoleManager(elector, { nodeId, ttlMs: 5_000, spread: { group: "example-roles" } });

for (const shard of [0, 1, 2, 3]) {
  roles.add(`ingest/${shard}`).add(`index/${shard}`, { dependsOn: [`ingest/${shard}`] });
}

roles
  .onRolePromote(async (role, { term }, signal) => {
    say(`begins ${role} in term ${term}`);
    // The work of the role, until the signal aborts.
    if (!signal.aborted) await once(signal, "abort");
  })
  .onRoleDemote((role, reason) => say(`has ended ${role}: ${reason}`));

const asked = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
await roles.start();
await asked;
await roles.stop();
await elector.close();
say("has stopped");
