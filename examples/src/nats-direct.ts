/**
 * Elections over NATS without a service: the processes campaign in a JetStream bucket, through the connection that they use
 * for their messages. The leader publishes a number each 200 ms; every process receives them, and drops those of a leader
 * that has been replaced.
 *
 *     nats-server -js
 *     node examples/dist/nats-direct.js a     # and b in another terminal
 *
 * Keep `pingInterval` short: only pings detect a server that hangs.
 */
import { once } from "node:events";
import { setInterval as ticks } from "node:timers/promises";
import { connect, headers } from "@nats-io/transport-node";
import { Election, openElector } from "@tenure/client";
import { MemoryTermCell, TermGate } from "@tenure/fence";

const GROUP = "numbers";
const TERM = "Tenure-Term";

const [nodeId = `node-${process.pid}`] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);

const connection = await connect({
  servers: (process.env["NATS_URL"] ?? "nats://127.0.0.1:4222").split(","),
  pingInterval: 1_000,
  maxReconnectAttempts: -1,
});
const elector = await openElector({ nats: connection, bucket: "leaders" });
const election = new Election(elector, { groupId: GROUP, nodeId, ttlMs: 5_000 });

// What a receiver must do: it admits no term below the highest that it has seen.
const gate = new TermGate({ cell: new MemoryTermCell() });
const subscription = connection.subscribe("example.numbers");
const received = (async () => {
  for await (const message of subscription) {
    const term = Number(message.headers?.get(TERM));
    const { kind } = await gate.admit({ groupId: GROUP, term });
    say(`${kind === "admitted" ? "got" : "refused"} ${message.string()} of term ${term}`);
  }
})();

election
  .onPromote(async ({ term }, signal) => {
    say(`leads in term ${term}`);
    let number = 0;
    for await (const _ of ticks(200, undefined, { signal })) {
      const head = headers();
      head.set(TERM, String(term));
      connection.publish("example.numbers", `${nodeId}/${(number += 1)}`, { headers: head });
    }
  })
  .onDemote((reason) => say(`no longer leads: ${reason}`));

const asked = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
await election.start();
await asked;
await election.stop({ timeoutMs: 10_000 });
await elector.close(); // Leaves the connection open.
subscription.unsubscribe();
await received;
await connection.close();
say("has stopped");
