/**
 * What the layers below the service cost: the routes of an election with nothing behind them, on Fastify with the same
 * schemas in and out, and on node:http alone. No hooks, no request ids, no metrics, no callers: whatever a service adds
 * counts against it.
 */
import { createServer, type Server } from "node:http";
import Fastify, { type FastifyInstance } from "fastify";

const id = { type: "string", minLength: 1, maxLength: 200, pattern: "^[A-Za-z0-9._:/-]+$" };
const ttlMs = { type: "integer", minimum: 1, maximum: 86_400_000 };
const closed = { type: "object", additionalProperties: false };
const params = { ...closed, required: ["group_id"], properties: { group_id: id } };
const text = { type: "string" };
const integer = { type: "integer" };
const lease = {
  type: "object",
  required: ["node_id", "term", "lease_expires_at_ms"],
  properties: { node_id: text, term: integer, lease_expires_at_ms: integer },
};
const renewBody = {
  ...closed,
  required: ["node_id", "term", "extend_by_ms"],
  properties: {
    node_id: id,
    term: { type: "integer", minimum: 1 },
    extend_by_ms: ttlMs,
    instance_start_uuid: id,
  },
};
const renewReply = {
  type: "object",
  required: ["ok", "leader"],
  properties: { ok: { type: "boolean", const: true }, leader: lease, token: text, transfer_to: text },
};
const leaderQuery = { ...closed, properties: { consistency: { enum: ["linearizable", "local"] } } };
const leaderReply = {
  type: "object",
  required: ["leader", "term"],
  properties: {
    leader: {
      ...lease,
      nullable: true,
      properties: { ...lease.properties, metadata: { type: "object", additionalProperties: {} } },
    },
    term: integer,
    age_ms: integer,
  },
};

interface RenewBody {
  readonly node_id: string;
  readonly term: number;
  readonly extend_by_ms: number;
}

export function bareFastify(): FastifyInstance {
  const app = Fastify({
    bodyLimit: 64 * 1024,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
  });
  app.post("/v1/groups/:group_id/campaign", () => ({
    is_leader: true,
    leader: leaseOf("node-1", 1, 60_000),
  }));
  app.post<{ Body: RenewBody }>(
    "/v1/groups/:group_id/renew",
    { schema: { params, body: renewBody, response: { 200: renewReply } } },
    ({ body }) => ({ ok: true, leader: leaseOf(body.node_id, body.term, body.extend_by_ms) }),
  );
  app.get(
    "/v1/groups/:group_id/leader",
    { schema: { params, querystring: leaderQuery, response: { 200: leaderReply } } },
    () => ({ leader: leaseOf("node-1", 1, 60_000), term: 1 }),
  );
  app.post<{ Body: { readonly renewals: readonly (RenewBody & { readonly group_id: string })[] } }>(
    "/v1/renew",
    ({ body }) => ({
      results: body.renewals.map(({ group_id, node_id, term, extend_by_ms }) => ({
        group_id,
        ok: true,
        leader: leaseOf(node_id, term, extend_by_ms),
      })),
    }),
  );
  return app;
}

export function bareNode(): Server {
  const leader = leaseOf("node-1", 1, 60_000);
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (chunks.length > 0) JSON.parse(Buffer.concat(chunks).toString("utf8"));
      const answer = JSON.stringify({ ok: true, leader: { ...leader, lease_expires_at_ms: Date.now() } });
      response.setHeader("content-type", "application/json; charset=utf-8");
      response.setHeader("content-length", Buffer.byteLength(answer));
      response.end(answer);
    });
  });
}

function leaseOf(node_id: string, term: number, forMs: number) {
  return { node_id, term, lease_expires_at_ms: Date.now() + forMs };
}
