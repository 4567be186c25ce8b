import { type CasOutcome, type Entry, NothingWritten, type WriteCall } from "@tenure/core";
import type { Connection } from "./connection.js";
import { isRefusal, unavailable } from "./failures.js";
import type { Keyspace } from "./keyspace.js";
import type { KeyValue, Protocol, ResponseOp, TxnResponse } from "./protocol.js";
import type { EncodedBatch } from "./txn-request.js";

/**
 * Sends each request once. All but the largest batches are one request. Of a batch that is several, etcd may refuse some
 * requests and not others; the operations of the refused ones are then uncertain.
 */
export async function writeBatch(
  connection: Connection,
  protocol: Protocol,
  keyspace: Keyspace,
  requests: readonly EncodedBatch[],
  call: WriteCall,
): Promise<CasOutcome[]> {
  let sent = 0;
  const send = async ({ bytes, ops }: EncodedBatch): Promise<void> => {
    const first = sent;
    sent += ops.length;
    const response = await connection.ask(protocol.txn, bytes, { signal: call.signal });
    for (let i = 0; i < ops.length; i++) call.answered(first + i, outcomeOf(response, i, keyspace));
  };
  const results = await Promise.allSettled(requests.map(send));
  const causes = results.flatMap((result) =>
    result.status === "rejected" ? [result.reason as unknown] : [],
  );
  if (causes.length === requests.length && causes.every(isRefusal)) {
    throw new NothingWritten(unavailable(causes[0]));
  }
  return call.outcomes(causes[0]);
}

/** Everything that one transaction writes has the revision of its answer. */
function outcomeOf({ header, responses }: TxnResponse, i: number, keyspace: Keyspace): CasOutcome {
  const inner = (responses[i] as ResponseOp).response_txn;
  if (inner === undefined) return { kind: "uncertain", cause: new Error("etcd answered something else") };
  if (inner.succeeded === true) return { kind: "swapped", revision: header.revision };
  const found = inner.responses[0]?.response_range?.kvs[0];
  return { kind: "conflict", current: found === undefined ? null : entryOf(found, keyspace) };
}

export function entryOf({ key, value, mod_revision: revision }: KeyValue, keyspace: Keyspace): Entry {
  return { key: keyspace.keyOf(key), value: value ?? "", revision };
}
