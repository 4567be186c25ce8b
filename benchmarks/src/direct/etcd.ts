/** etcd by plain `@grpc/grpc-js`: one compare-and-put Txn per renewal, one linearizable Range per read. */
import { fileURLToPath } from "node:url";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { type DirectParts, type OpenWorkers, serversOf } from "./direct-load.js";

interface TxnAnswer {
  readonly header: { readonly revision: number };
  readonly succeeded?: boolean;
}
interface RangeAnswer {
  readonly kvs?: readonly object[];
}
type Unary<Answer> = (request: object, callback: grpc.requestCallback<Answer>) => void;

interface KvClient extends grpc.Client {
  readonly txn: Unary<TxnAnswer>;
  readonly range: Unary<RangeAnswer>;
}

export const openEtcdTxns: OpenWorkers = async (parts) => {
  const clients = openClients(parts);
  return Promise.all(
    Array.from({ length: parts.inFlight }, async (_, index) => {
      const client = clients[index % clients.length] as KvClient;
      const key = `direct/txn/${parts.connections}/${index}`;
      let revision = 0;
      const worker = async (): Promise<void> => {
        revision = await compareAndPut(client, key, revision, parts.value);
      };
      await worker();
      return worker;
    }),
  );
};

export const openEtcdRanges: OpenWorkers = async (parts) => {
  const clients = openClients(parts);
  return Promise.all(
    Array.from({ length: parts.inFlight }, async (_, index) => {
      const client = clients[index % clients.length] as KvClient;
      const key = `direct/range/${parts.connections}/${index}`;
      await compareAndPut(client, key, 0, parts.value);
      return async () => {
        const { kvs = [] } = await ask<RangeAnswer>((done) => client.range({ key }, done));
        if (kvs.length !== 1) throw new Error(`the Range of ${key} found nothing`);
      };
    }),
  );
};

async function compareAndPut(
  client: KvClient,
  key: string,
  revision: number,
  value: string,
): Promise<number> {
  const request = {
    compare: [{ target: "MOD", result: "EQUAL", key, mod_revision: revision }],
    success: [{ request_put: { key, value } }],
  };
  const { header, succeeded } = await ask<TxnAnswer>((done) => client.txn(request, done));
  if (succeeded !== true) throw new Error(`the Txn of ${key} was refused`);
  return header.revision;
}

/** Each has a connection of its own; they go round the members, as those of etcd's own client do. */
function openClients({ url, connections }: DirectParts): KvClient[] {
  const proto = fileURLToPath(new URL("../proto/etcd.proto", import.meta.resolve("@tenure/stores")));
  const definition = grpc.loadPackageDefinition(loadSync(proto, { keepCase: true, longs: Number }));
  const { KV } = definition["etcdserverpb"] as unknown as {
    readonly KV: new (...args: ConstructorParameters<typeof grpc.Client>) => KvClient;
  };
  const servers = serversOf(url);
  const credentials = grpc.credentials.createInsecure();
  return Array.from({ length: connections }, (_, index) => {
    const server = servers[index % servers.length] ?? servers[0];
    return new KV(server, credentials, { "grpc.use_local_subchannel_pool": 1 });
  });
}

function ask<Answer>(send: (done: grpc.requestCallback<Answer>) => void): Promise<Answer> {
  return new Promise((resolve, reject) => {
    send((error, answer) => (error === null ? resolve(answer as Answer) : reject(error)));
  });
}
