/** The registry of one running node: replicated to the members, compared with theirs, and containing this server itself. */
import { createHash } from "node:crypto";
import type { Clock } from "@tenure/core";
import type { Membership } from "../membership/membership.js";
import { MEMBER_LEASES } from "../protocol/electorate.js";
import type { RmChange, RmEntry, RmRegistry } from "../registry/rm-registry.js";
import { RmReplicator } from "../registry/rm-replicator.js";
import { SelfRegistration } from "../registry/self-registration.js";
import { decodeEntries, decodeEntry, encodeEntry } from "./codec.js";
import { CALL_LEASES, type PeerCalls, RefusedCallError } from "./peer-calls.js";
import type { PeerLog } from "./peer-log.js";
import type { NodeOptions } from "./peer-node-options.js";
import { REPLICATE } from "./route.js";

export interface NodeRegistryParts {
  readonly options: NodeOptions;
  readonly disk: string;
  readonly clock: Clock;
  readonly calls: PeerCalls;
  readonly membership: Membership;
  readonly registry: RmRegistry;
  readonly log: PeerLog;
}

export interface NodeRegistry {
  readonly replicator: RmReplicator;
  readonly registration: SelfRegistration;
  /** Removes this server from the registry of every member; rejects if one does not confirm. */
  readonly unregister: () => Promise<void>;
}

const WHAT = "registering this server as a resource manager";

export function nodeRegistry(parts: NodeRegistryParts): NodeRegistry {
  const replicator = replicatorOf(parts);
  return {
    replicator,
    registration: registrationOf(parts, replicator),
    unregister: () => apply(replicator, { kind: "unregister", ...ownEntry(parts) }),
  };
}

function others({ membership, options }: NodeRegistryParts): readonly string[] {
  return membership.endpoints().filter((each) => each !== options.endpoint);
}

/** Named after its disk: an empty disk is another backend. */
function ownEntry({ options, disk }: NodeRegistryParts): { backendHash: string; endpoint: string } {
  const backendHash = createHash("sha256").update(disk).digest("hex").slice(0, 32);
  return { backendHash, endpoint: options.endpoint };
}

async function apply(replicator: RmReplicator, change: RmChange): Promise<void> {
  const outcome = await replicator.apply(change);
  if (outcome.kind === "failed") throw outcome.cause;
}

function replicatorOf(parts: NodeRegistryParts): RmReplicator {
  const { registry, clock, options, calls } = parts;
  return new RmReplicator({
    registry,
    clock,
    limitMs: options.ttlMs,
    peers: () => others(parts),
    onChanged: ({ kind, backendHash, endpoint }) =>
      parts.log.log.info(
        { backend_hash: backendHash, endpoint },
        `a resource manager is ${kind === "register" ? "registered" : "no longer registered"}`,
      ),
    calls: {
      reach: async (to, signal) =>
        void (await calls.ask(to, { method: "GET", path: "/v1/tc/leader", signal })),
      replicate: async (to, entry, signal) => {
        const { backend_hash, endpoint, version } = encodeEntry(entry);
        const body = { backend_hash, endpoint, version };
        const headers = { [REPLICATE]: "1" };
        const path = `/v1/tc/rm/${entry.isRegistered ? "register" : "unregister"}`;
        const answer = await calls.ask(to, { method: "POST", path, body, headers, signal });
        return decodeEntry(answer["entry"]);
      },
    },
  });
}

function registrationOf(parts: NodeRegistryParts, replicator: RmReplicator): SelfRegistration {
  const { options, clock, calls, membership, registry, log } = parts;
  const { endpoint, ttlMs, join } = options;
  const own = ownEntry(parts);
  const body = { backend_hash: own.backendHash, endpoint };
  return new SelfRegistration({
    clock,
    intervalMs: MEMBER_LEASES * ttlMs,
    retryMs: ttlMs,
    targets: () => {
      const members = membership.endpoints();
      return members.length === 0 ? join : members;
    },
    register: async (to) => {
      if (to !== endpoint) {
        const call = { method: "POST", path: "/v1/tc/rm/register", body } as const;
        const answer = await calls.sendWithin(CALL_LEASES * ttlMs, to, call);
        if (answer.status !== 200) throw new RefusedCallError(to, answer);
        return;
      }
      await apply(replicator, { kind: "register", ...own });
      // At the endpoint where this server was before it moved, nothing applies decisions any more.
      for (const former of registry.backend(own.backendHash).endpoints) {
        if (former !== endpoint) await apply(replicator, { kind: "unregister", ...own, endpoint: former });
      }
    },
    catchUp: () => catchUp(parts),
    isWanted: () => !membership.leaving,
    onFailure: (to, cause) => log.failed(WHAT, to, cause),
    onSuccess: (to) => log.succeeded(WHAT, to),
  });
}

/**
 * Changes that this server has missed are not sent to it again, so it compares its registry with those of all members.
 * Resolves to the members at which this server is registered.
 */
async function catchUp(parts: NodeRegistryParts): Promise<ReadonlySet<string>> {
  const own = ownEntry(parts);
  const has = new Set<string>();
  for (const to of others(parts)) {
    for await (const entries of pagesOf(parts, to)) {
      await parts.registry.merge(entries);
      const isOwn = entries.some(
        ({ backendHash, endpoint, isRegistered }) =>
          isRegistered && backendHash === own.backendHash && endpoint === own.endpoint,
      );
      if (isOwn) has.add(to);
    }
  }
  return has;
}

async function* pagesOf(
  { options, calls }: NodeRegistryParts,
  to: string,
): AsyncIterable<readonly RmEntry[]> {
  for (let after = ""; ;) {
    const path = `/v1/tc/rm/list?after=${encodeURIComponent(after)}`;
    const call = { method: "GET", path } as const;
    const answer = await calls.sendWithin(options.ttlMs, to, call).catch(() => null);
    if (answer?.status !== 200) return;
    yield decodeEntries(answer.body);
    const next: unknown = answer.body["next"];
    // A page that does not advance would be requested without end.
    if (typeof next !== "string" || next <= after) return;
    after = next;
  }
}
