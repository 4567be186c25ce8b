/**
 * NATS by `@nats-io/jetstream`: one publish with the expected sequence of its subject per renewal, into a bucket's stream.
 * That is what `update` of `@nats-io/kv` is: the same call with the same header.
 */
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import type { OpenWorkers } from "./direct-load.js";
import { serversOf } from "./servers-of.js";

const REPLICAS = 3;

export const openNatsUpdates: OpenWorkers = async ({ url, value, connections, inFlight }) => {
  const servers = serversOf(url);
  const links = await Promise.all(Array.from({ length: connections }, () => connect({ servers })));
  const bucket = `direct-${connections}`;
  const manager = await jetstreamManager(links[0] as (typeof links)[0]);
  // The settings that `@nats-io/kv` makes a bucket with.
  await manager.streams.add({
    name: `KV_${bucket}`,
    subjects: [`$KV.${bucket}.>`],
    num_replicas: REPLICAS,
    max_msgs_per_subject: 1,
    discard: "new",
    allow_rollup_hdrs: true,
    allow_direct: true,
    deny_delete: true,
  });
  const clients = links.map((link) => jetstream(link));
  return Promise.all(
    Array.from({ length: inFlight }, async (_, index) => {
      const client = clients[index % clients.length] as (typeof clients)[0];
      const subject = `$KV.${bucket}.${index}`;
      let sequence = 0;
      const worker = async (): Promise<void> => {
        const { seq } = await client.publish(subject, value, { expect: { lastSubjectSequence: sequence } });
        sequence = seq;
      };
      await worker();
      return worker;
    }),
  );
};
