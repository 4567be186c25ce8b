/**
 * What Fastify alone costs: the routes of an election with the same schemas in and out, and nothing behind them. No
 * hooks, no request ids, no metrics, no callers: whatever a service adds counts against it.
 */
import Fastify from "fastify";
import { answerOwner } from "./child.js";
import { type ServiceAnswer, type ServiceQuestion, stateOf } from "./service-load.js";

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

const app = Fastify({
  bodyLimit: 64 * 1024,
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
});
const leaseOf = (node_id: string, term: number, forMs: number) => ({
  node_id,
  term,
  lease_expires_at_ms: Date.now() + forMs,
});
app.post("/v1/groups/:group_id/campaign", () => ({ is_leader: true, leader: leaseOf("node-1", 1, 60_000) }));
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
const opened = app.listen({ host: "127.0.0.1", port: 0 });

answerOwner<ServiceQuestion, ServiceAnswer>(async (question) => stateOf(await opened, question));
