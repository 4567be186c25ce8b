import type { FastifyInstance, FastifyRequest } from "fastify";
import type { RmChange, RmRegistry } from "../registry/rm-registry.js";
import type { RmReplicator } from "../registry/rm-replicator.js";
import { Body } from "./body.js";
import type { Callers } from "./callers.js";
import { decodeVersion, encodeEntry } from "./codec.js";
import type { Offices } from "./offices.js";
import { isMarked, orUnavailable, OWN_IDENTITY, REPLICATE } from "./route.js";
import { WireError } from "./wire-error.js";

export interface RmRouteParts {
  readonly callers: Callers;
  readonly offices: Offices;
  readonly registry: RmRegistry;
  readonly replicator: RmReplicator;
  readonly onReplicationFailed: () => void;
}

const CODE = "tc_rm_unavailable";
/** Entries per page. With the longest hashes, endpoints and names a page is well below `MAX_ANSWER_BYTES`. */
const MAX_PAGE = 500;

export function rmRoutes(app: FastifyInstance, parts: RmRouteParts): void {
  const { callers, offices, registry, replicator, onReplicationFailed } = parts;
  const changes = (kind: RmChange["kind"]) => async (request: FastifyRequest) => {
    const { socket } = request.raw;
    // A stranger must not learn what is wrong with its body.
    callers.server(socket);
    const isReplica = isMarked(request, REPLICATE);
    const body = new Body(request.body, ["backend_hash", "endpoint", ...(isReplica ? ["version"] : [])]);
    const change = { kind, backendHash: body.id("backend_hash"), endpoint: body.endpoint("endpoint") };
    offices.registrar(socket, change);
    const shown = (): object => ({
      backend_hash: change.backendHash,
      endpoints: registry.backend(change.backendHash).endpoints,
      updated_at_unix: registry.updatedAtUnix,
    });
    if (isReplica) {
      await orUnavailable(CODE, takeReplica(registry, change, body));
      const entry = registry.entry(change.backendHash, change.endpoint);
      return { ...shown(), entry: entry === null ? null : encodeEntry(entry) };
    }
    const outcome = await orUnavailable(CODE, replicator.apply(change));
    if (outcome.kind === "failed") {
      onReplicationFailed();
      const why = outcome.cause instanceof Error ? outcome.cause.message : String(outcome.cause);
      throw new WireError(
        "tc_rm_replication_failed",
        `${outcome.endpoint} did not confirm (${why}), so nothing was changed; retry when all members can be reached`,
      );
    }
    return shown();
  };

  app.post("/v1/tc/rm/register", OWN_IDENTITY, changes("register"));
  app.post("/v1/tc/rm/unregister", OWN_IDENTITY, changes("unregister"));

  app.get("/v1/tc/rm/list", OWN_IDENTITY, async ({ raw, query }) => {
    offices.reader(raw.socket);
    const asked = new Body(query, ["after"]);
    // Servers compare every entry, page by page. Operators see what is registered, not what was removed: that only
    // grows.
    if (asked.has("after")) {
      const { entries, next } = registry.page(String(asked.required("after")), MAX_PAGE);
      return { entries: entries.map(encodeEntry), next };
    }
    return {
      backends: registry
        .backends()
        .map(({ backendHash, endpoints }) => ({ backend_hash: backendHash, endpoints })),
      updated_at_unix: registry.updatedAtUnix,
    };
  });
}

/** A replica without a version is a change at this server only. */
async function takeReplica(registry: RmRegistry, change: RmChange, body: Body): Promise<void> {
  if (!body.has("version")) return void (await registry.make(change));
  const { kind, backendHash, endpoint } = change;
  const version = decodeVersion(body.required("version"), "version");
  await registry.merge([{ backendHash, endpoint, isRegistered: kind === "register", version }]);
}
