/** etcd's messages as they are decoded: what is absent on the wire is absent here, but lists are always there. */
import { fileURLToPath } from "node:url";
import type { MethodDefinition } from "@grpc/grpc-js";
import { loadLibraries } from "../engine-libraries.js";

export interface ResponseHeader {
  /** Rounded to what a number holds. */
  readonly cluster_id: number;
  readonly revision: number;
}

export interface KeyValue {
  readonly key: string;
  readonly mod_revision: number;
  readonly version: number;
  readonly value?: string;
}

export interface RangeRequest {
  readonly key: string;
  readonly range_end?: string;
  readonly limit?: number;
  readonly revision?: number;
  readonly serializable?: boolean;
}

export interface RangeResponse {
  readonly header: ResponseHeader;
  readonly kvs: readonly KeyValue[];
  readonly more?: boolean;
}

export interface TxnResponse {
  readonly header: ResponseHeader;
  readonly succeeded?: boolean;
  readonly responses: readonly ResponseOp[];
}

export interface ResponseOp {
  readonly response_range?: RangeResponse;
  readonly response_txn?: TxnResponse;
}

export interface WatchRequest {
  readonly create_request: {
    readonly key: string;
    readonly range_end: string;
    readonly start_revision: number;
    readonly fragment: boolean;
  };
}

export interface WatchResponse {
  readonly canceled?: boolean;
  readonly compact_revision?: number;
  readonly cancel_reason?: string;
  readonly fragment?: boolean;
  readonly events: readonly WatchEvent[];
}

export interface WatchEvent {
  readonly type?: number;
  readonly kv: KeyValue;
}

export const DELETED = 1;

export interface Protocol {
  readonly grpc: typeof import("@grpc/grpc-js");
  readonly range: MethodDefinition<RangeRequest, RangeResponse>;
  /** The request is bytes already, see `encodeBatch`. */
  readonly txn: MethodDefinition<Buffer, TxnResponse>;
  readonly watch: MethodDefinition<WatchRequest, WatchResponse>;
  readonly authenticate: MethodDefinition<
    { readonly name: string; readonly password: string },
    { readonly token: string }
  >;
}

/** Beside `src` and `dist` alike, and part of the package. */
export const PROTO_PATH: string = fileURLToPath(new URL("../../proto/etcd.proto", import.meta.url));

let loaded: Promise<Protocol> | null = null;

/** Once for all stores of the process: the functions that decode are compiled at their first use. */
export function loadProtocol(): Promise<Protocol> {
  loaded ??= load().catch((error: unknown) => {
    loaded = null;
    throw error;
  });
  return loaded;
}

async function load(): Promise<Protocol> {
  const { "@grpc/grpc-js": grpc, "@grpc/proto-loader": loader } = await loadLibraries("etcd", {
    "@grpc/grpc-js": () => import("@grpc/grpc-js"),
    "@grpc/proto-loader": () => import("@grpc/proto-loader"),
  });
  const services = await loader.load(PROTO_PATH, { keepCase: true, longs: Number, arrays: true });
  const method = <Request, Response>(service: string, name: string): MethodDefinition<Request, Response> =>
    (services[`etcdserverpb.${service}`] as unknown as Record<string, MethodDefinition<Request, Response>>)[
      name
    ] as MethodDefinition<Request, Response>;
  return {
    grpc,
    range: method("KV", "Range"),
    txn: { ...method<Buffer, TxnResponse>("KV", "Txn"), requestSerialize: (bytes) => bytes },
    watch: method("Watch", "Watch"),
    authenticate: method("Auth", "Authenticate"),
  };
}
