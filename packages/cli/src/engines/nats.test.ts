import { jetstream } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { startNats } from "@tenure/engines";
import { clusterSuite, type PlainClient, serviceSuite } from "./engine-suite.test-kit.js";

serviceSuite({ engine: "nats", start: () => startNats() });

// The system's release compares wrongly in a replicated bucket. A server that misses its leader waits 4 to 9 s before it
// stands for election, by constants of nats-server: the service can be there no sooner than any other client.
clusterSuite({
  engine: "newer nats",
  start: () => startNats({ nodes: 3, replicas: 3, release: "newer" }),
  plain: plainClient,
});

const ANSWER_MS = 200;

/** Writes what is no key of ours into the same stream, so that it needs the same leader. */
async function plainClient(url: string): Promise<PlainClient> {
  const [, servers = "", bucket = ""] = /^nats:\/\/([^/?]+)\/([^?]+)/.exec(url) ?? [];
  const connection = await connect({
    servers: servers.split(","),
    reconnectTimeWait: 50,
    maxReconnectAttempts: -1,
  });
  const client = jetstream(connection, { timeout: ANSWER_MS });
  return {
    write: () => client.publish(`$KV.${bucket}.plain`, "", { timeout: ANSWER_MS, retries: 0 }),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}
