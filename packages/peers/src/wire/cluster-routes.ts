import type { FastifyInstance } from "fastify";
import type { Announcer } from "../membership/announcer.js";
import type { Membership, MemberLease } from "../membership/membership.js";
import { Body } from "./body.js";
import type { Callers } from "./callers.js";
import type { Offices } from "./offices.js";
import type { NodeLog } from "./peer-log.js";
import { ANNOUNCED, isMarked, LEAVE_FANOUT, orUnavailable, OWN_IDENTITY } from "./route.js";
import { WireError } from "./wire-error.js";

export interface ClusterRouteParts {
  readonly identity: string;
  readonly ttlMs: number;
  readonly callers: Callers;
  readonly offices: Offices;
  readonly membership: Membership;
  readonly announcer: Announcer;
  readonly log: NodeLog;
  /** Called after a leave that all members have confirmed. */
  readonly onLeft: () => void;
  /** Called when this server is to be a member again. */
  readonly onReturned: () => void;
}

const CODE = "tc_cluster_unavailable";

export function clusterRoutes(app: FastifyInstance, parts: ClusterRouteParts): void {
  const { identity: own, ttlMs, callers, offices, membership, announcer, log, onLeft, onReturned } = parts;
  /** The servers whose ttl differs, so that each is logged once. */
  const differing = new Map<string, number>();
  const shown = (leases: readonly MemberLease[]): object => ({
    endpoints: membership.endpoints(),
    updated_at_unix: Math.max(0, ...leases.map((lease) => lease.updatedAtUnix)),
    expires_at_unix: Math.max(0, ...leases.map((lease) => lease.expiresAtUnix)),
  });

  app.post("/v1/tc/cluster/announce", OWN_IDENTITY, async (request) => {
    const identity = callers.server(request.raw.socket);
    const body = new Body(request.body, ["self_endpoint", "disk", "ttl_ms", "cluster"]);
    const endpoint = body.endpoint("self_endpoint");
    offices.announcer(request.raw.socket, body.has("cluster") ? body.text("cluster") : null);
    // This server's own announcement, which came back through an endpoint that is another name of this server.
    if (identity === own && isMarked(request, ANNOUNCED)) return shown(membership.active());
    if (identity === own) {
      // Sent to itself, it is an operator's request to be a member again; the server knows its own identity and
      // endpoint.
      membership.leaving = false;
      onReturned();
      await orUnavailable(CODE, announcer.announce());
      return shown(membership.active().filter((each) => each.identity === own));
    }
    const member = { identity, endpoint, disk: body.text("disk") };
    compareTtl(identity, endpoint, body.has("ttl_ms") ? body.ttlMs("ttl_ms") : ttlMs);
    const isKnown = membership
      .active()
      .some((each) => each.identity === identity && each.endpoint === endpoint);
    const lease = await orUnavailable(CODE, membership.announce(member));
    if (!isKnown) log.info({ identity, endpoint }, "a server joined the membership");
    return shown([lease]);
  });

  const compareTtl = (identity: string, endpoint: string, theirsMs: number): void => {
    if (differing.get(identity) === theirsMs) return;
    if (theirsMs === ttlMs) return void differing.delete(identity);
    differing.set(identity, theirsMs);
    log.warn(
      { identity, endpoint, ttl_ms: theirsMs, own_ttl_ms: ttlMs },
      "a server has another --tc-ttl than this one: give the same to all, or leases are refused and members expire",
    );
  };

  app.post("/v1/tc/cluster/leave", OWN_IDENTITY, async (request) => {
    const identity = callers.server(request.raw.socket);
    const isFannedOut = isMarked(request, LEAVE_FANOUT);
    if (identity !== own && !isFannedOut) {
      // Applied here alone it would be undone by the next announcement, and be reported as done.
      const endpoint = membership.active().find((each) => each.identity === identity)?.endpoint;
      throw new WireError(
        "tc_forbidden",
        `this server is ${own}, not ${identity}: ask ${identity} itself to leave${endpoint === undefined ? "" : `, at ${endpoint}`}`,
      );
    }
    if (isFannedOut) {
      await orUnavailable(CODE, membership.leave(identity));
      log.info({ identity }, "a server left the membership");
      return { left: true, ...shown(membership.active()) };
    }
    const { failed } = await orUnavailable(CODE, announcer.leave({ anyway: false }));
    if (failed.length > 0) {
      const missed = failed.map(({ endpoint }) => endpoint).join(", ");
      throw new WireError(
        CODE,
        `${missed} did not confirm, so this server stays; leave again when all can be reached`,
      );
    }
    onLeft();
    return { left: true, ...shown(membership.active()) };
  });

  app.get("/v1/tc/cluster/list", OWN_IDENTITY, async ({ raw }) => {
    callers.client(raw.socket);
    const active = membership.active();
    return {
      ...shown(active),
      members: active
        .map(({ identity, endpoint, expiresAtUnix }) => ({
          identity,
          endpoint,
          expires_at_unix: expiresAtUnix,
        }))
        .toSorted((a, b) => (a.identity < b.identity ? -1 : 1)),
    };
  });
}
