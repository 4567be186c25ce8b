import type { MethodDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { type CasOp, InvalidRequestError } from "@tenure/core";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Keyspace } from "./keyspace.js";
import { PROTO_PATH } from "./protocol.js";
import { encodeBatch } from "./txn-request.js";

const services = loadSync(PROTO_PATH, { keepCase: true, longs: Number });
const txn = (services["etcdserverpb.KV"] as unknown as Record<string, MethodDefinition<object, object>>)[
  "Txn"
];

const text = fc.string({ unit: "grapheme", maxLength: 300 });
const op = fc.record({
  key: text.filter((key) => key !== ""),
  expected: fc.option(fc.maxSafeNat().map((revision) => Math.max(revision, 1))),
  value: text,
});

/** The same request written with the library. */
function plain(batch: readonly CasOp[], { head }: Keyspace): object {
  const inner = batch.map(({ key, expected, value }) => ({
    request_txn: {
      compare: [{ target: 2, key: head + key, mod_revision: expected ?? 0 }],
      success: [{ request_put: { key: head + key, value } }],
      failure: [{ request_range: { key: head + key } }],
    },
  }));
  return { success: [...inner, { request_put: { key: head } }] };
}

test("a batch is encoded as the etcd library encodes it", () => {
  fc.assert(
    fc.property(fc.array(op, { minLength: 1, maxLength: 20 }), text, (batch, prefix) => {
      const keyspace = new Keyspace(prefix);
      const [request, ...more] = encodeBatch(batch, keyspace);
      expect(more).toEqual([]);
      expect(request?.ops).toEqual(batch);
      const decoded = txn?.requestDeserialize(request?.bytes as Buffer);
      const expected = txn?.requestDeserialize(txn.requestSerialize(plain(batch, keyspace)));
      expect(decoded).toEqual(expected);
    }),
  );
});

test("a batch too large for one request is split into several, in order and complete", () => {
  const keyspace = new Keyspace("tenure");
  const batch = Array.from({ length: 126 }, (_, i) => ({
    key: `r/${i}`,
    expected: null,
    value: "x".repeat(40_000),
  }));
  const requests = encodeBatch(batch, keyspace);
  expect(requests.length).toBeGreaterThan(3);
  expect(requests.flatMap(({ ops }) => ops)).toEqual(batch);
  for (const { bytes, ops } of requests) {
    expect(bytes.length).toBeLessThanOrEqual(1_500_000);
    expect(txn?.requestDeserialize(bytes)).toEqual(
      txn?.requestDeserialize(txn.requestSerialize(plain(ops, keyspace))),
    );
  }
});

test("an operation too large for one request is refused and named", () => {
  const batch = ["x", "x".repeat(1_500_000)].map((value, i) => ({ key: `r/${i}`, expected: null, value }));
  expect(() => encodeBatch(batch, new Keyspace("tenure"))).toThrow(InvalidRequestError);
  expect(() => encodeBatch(batch, new Keyspace("tenure"))).toThrow(
    /batch\[1\].value must take less than 1500000 bytes/,
  );
});
