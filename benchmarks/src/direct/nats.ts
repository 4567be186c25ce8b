/**
 * NATS by `@nats-io/jetstream`: one publish with the expected sequence of its subject per renewal, into a bucket's stream.
 * That is what `update` of `@nats-io/kv` is: the same call with the same header.
 */
import { jetstream, JetStreamApiError, type JetStreamClient, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { type OpenWorkers, serversOf } from "./direct-load.js";

const REPLICAS = 3;
/** Another sequence than expected; the second is also given to updates that nobody contends for. */
const WRONG_LAST_SEQUENCE: ReadonlySet<number> = new Set([10071, 10164]);
const ANSWER_MS = 500;
const ATTEMPTS = 40;

export const openNatsUpdates: OpenWorkers = async ({ url, value, connections, inFlight }) => {
  const servers = serversOf(url);
  const links = await Promise.all(Array.from({ length: connections }, () => connect({ servers })));
  const bucket = `direct-${connections}`;
  const manager = await jetstreamManager(links[0] as (typeof links)[0]);
  // The settings that `@nats-io/kv` makes a bucket with.
  const stream = `KV_${bucket}`;
  await manager.streams.add({
    name: stream,
    subjects: [`$KV.${bucket}.>`],
    num_replicas: REPLICAS,
    max_msgs_per_subject: 1,
    discard: "new",
    allow_rollup_hdrs: true,
    allow_direct: true,
    deny_delete: true,
  });
  const clients = links.map((link) => jetstream(link));
  await untilServed(clients[0] as (typeof clients)[0], `$KV.${bucket}.served`);
  return Promise.all(
    Array.from({ length: inFlight }, async (_, index) => {
      const client = clients[index % clients.length] as (typeof clients)[0];
      const subject = `$KV.${bucket}.${index}`;
      let sequence = 0;
      const update = async (): Promise<void> => {
        const { seq } = await client.publish(subject, value, { expect: { lastSubjectSequence: sequence } });
        sequence = seq;
      };
      // Refused, it looks again: the library sends a publish a second time whose answer was lost.
      const worker = async (): Promise<void> => {
        try {
          await update();
        } catch (error) {
          if (!(error instanceof JetStreamApiError) || !WRONG_LAST_SEQUENCE.has(error.code)) throw error;
          sequence = (await manager.streams.getMessage(stream, { last_by_subj: subject }))?.seq ?? 0;
          await update();
        }
      };
      await worker();
      return worker;
    }),
  );
};

/** A stream that was just made may have no leader yet, and then nobody answers. */
async function untilServed(client: JetStreamClient, subject: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await client.publish(subject, "", { timeout: ANSWER_MS });
      return;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}
