/** The work of a client that talks to an engine directly, without Tenure. */
export interface DirectLoad {
  readonly call: DirectCall;
  readonly connections: number;
  readonly inFlight: number;
}

export type DirectCall = "etcd-txn" | "etcd-range" | "postgres-update" | "nats-update" | "zookeeper-set-data";

export interface DirectParts extends Pick<DirectLoad, "connections" | "inFlight"> {
  readonly url: string;
  /** What a renewal writes. */
  readonly value: string;
}

/** A call, made again as soon as it has ended. Its key is its own, and its next write expects the revision of its last. */
export type Worker = () => Promise<void>;

/** As many workers as are to be in flight, spread over the connections. */
export type OpenWorkers = (parts: DirectParts) => Promise<Worker[]>;

/** `host:port` of each server that a store's URL names. */
export function serversOf(url: string): [string, ...string[]] {
  const servers = /^\w+:\/\/(?:[^@/]*@)?([^/?]+)/.exec(url)?.[1]?.split(",") ?? [];
  const [first, ...others] = servers;
  if (first === undefined) throw new Error(`${url} names no server`);
  return [first, ...others];
}
