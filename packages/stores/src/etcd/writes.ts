import type { CasOp, CasOutcome, Entry } from "@tenure/core";
import type { Connection } from "./connection.js";
import { isRefusal, unavailable } from "./failures.js";
import type { Keyspace } from "./keyspace.js";
import type { KeyValue, Protocol, ResponseOp, TxnResponse } from "./protocol.js";
import type { EncodedBatch } from "./txn-request.js";

type Answer =
  | { readonly kind: "answered"; readonly outcomes: readonly CasOutcome[] }
  /** Nothing of it was executed or will be. */
  | { readonly kind: "refused"; readonly cause: unknown };

/**
 * Sends each request once. All but the largest batches are one request; of those that are more, some may be refused while
 * others are not, and then the operations of the refused ones count as uncertain.
 */
export async function writeBatch(
  connection: Connection,
  protocol: Protocol,
  keyspace: Keyspace,
  requests: readonly EncodedBatch[],
  signal: AbortSignal | undefined,
): Promise<CasOutcome[]> {
  const send = (request: EncodedBatch): Promise<Answer> =>
    writeOne(connection, protocol, keyspace, request, signal);
  const answers = await Promise.all(requests.map(send));
  const [first] = answers;
  if (first?.kind === "refused" && answers.every(({ kind }) => kind === "refused"))
    throw unavailable(first.cause);
  return answers.flatMap((answer, i) =>
    answer.kind === "answered" ? answer.outcomes : uncertain((requests[i] as EncodedBatch).ops, answer.cause),
  );
}

async function writeOne(
  connection: Connection,
  protocol: Protocol,
  keyspace: Keyspace,
  { bytes, ops }: EncodedBatch,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  try {
    const response = await connection.ask(protocol.txn, bytes, { signal });
    return { kind: "answered", outcomes: ops.map((_, i) => outcomeOf(response, i, keyspace)) };
  } catch (cause) {
    if (isRefusal(cause)) return { kind: "refused", cause };
    return { kind: "answered", outcomes: uncertain(ops, cause) };
  }
}

/** Everything that one transaction writes has the revision that its answer bears. */
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

function uncertain(ops: readonly CasOp[], cause: unknown): CasOutcome[] {
  return ops.map(() => ({ kind: "uncertain", cause }));
}
