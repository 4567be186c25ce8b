import { AckPolicy, jetstreamManager } from "@nats-io/jetstream";
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
const CONSUMER = { ack_policy: AckPolicy.None, mem_storage: true, num_replicas: 1 };

/**
 * Needs from NATS what the service needs: the stream's leader, for a write outside of our keys, and the cluster's, for
 * a consumer. Each is elected separately.
 */
async function plainClient(url: string): Promise<PlainClient> {
  const [, servers = "", bucket = ""] = /^nats:\/\/([^/?]+)\/([^?]+)/.exec(url) ?? [];
  const connection = await connect({
    servers: servers.split(","),
    reconnectTimeWait: 50,
    maxReconnectAttempts: -1,
  });
  const manager = await jetstreamManager(connection, { timeout: ANSWER_MS });
  const write = async (): Promise<void> => {
    await manager.jetstream().publish(`$KV.${bucket}.plain`, "", { timeout: ANSWER_MS, retries: 0 });
    const { name } = await manager.consumers.add(`KV_${bucket}`, CONSUMER);
    await manager.consumers.delete(`KV_${bucket}`, name);
  };
  return { write, [Symbol.asyncDispose]: () => connection.close() };
}
