/**
 * A Fastify server of which every copy serves requests, with one piece of work that only one copy does: a singleton. The work
 * begins when this copy leads, and has ended before the server closes and another copy begins.
 *
 *     node examples/dist/fastify.js a     # and b in another terminal
 */
import { once } from "node:events";
import { setInterval as ticks } from "node:timers/promises";
import { Election, type Leading, openElector } from "@tenure/client";
import Fastify, { type FastifyInstance } from "fastify";

export interface SingletonOptions {
  readonly groupId: string;
  readonly nodeId: string;
  readonly work: (leading: Pick<Leading, "term" | "signal">) => Promise<void>;
}

/** Adds the singleton to a server: it starts with the server and ends with `app.close()`. */
export async function addSingleton(app: FastifyInstance, options: SingletonOptions): Promise<Election> {
  const { groupId, nodeId, work } = options;
  const elector = await openElector(process.env["TENURE_SERVER"] ?? "http://127.0.0.1:7420");
  const election = new Election(elector, { groupId, nodeId, ttlMs: 5_000 });
  election.onPromote(({ term }, signal) => work({ term, signal }));
  app.addHook("onReady", () => election.start());
  // Before the server stops: requests that need the singleton are still answered while its work ends.
  app.addHook("preClose", () => election.stop({ timeoutMs: 10_000 }));
  app.addHook("onClose", () => elector.close());
  return election;
}

const [nodeId = `node-${process.pid}`] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);

const app = Fastify();
let rounds = 0;
const election = await addSingleton(app, {
  groupId: "fastify-singleton",
  nodeId,
  work: async ({ term, signal }) => {
    say(`begins its work in term ${term}`);
    try {
      for await (const _ of ticks(100, undefined, { signal })) rounds += 1;
    } finally {
      say("has ended its work");
    }
  },
});
app.get("/", () => ({ nodeId, isLeader: election.isLeader(), leader: election.leaderId(), rounds }));

const asked = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
say(`listens on ${await app.listen({ port: 0, host: "127.0.0.1" })}`);
await asked;
await app.close();
say("has stopped");
