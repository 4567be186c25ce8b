import { Type } from "typebox";
import { batchCost } from "../limits/admission.js";
import * as shapes from "../wire/shapes.js";
import { withMetadataText } from "./metadata-text.js";
import { type UnaryMethod, unaryMethod } from "./unary-method.js";

const closed = { additionalProperties: false } as const;
const group = shapes.GroupParams.properties;
/** A thousand renewals need more room. As of such a body in HTTP. */
export const MANY_BYTES: number = 1024 * 1024;

/** The schemas are those of HTTP: a path's parameters, a query and a body in one message. */
export const electionMethods: Readonly<Record<string, UnaryMethod>> = {
  Campaign: unaryMethod(
    Type.Object({ ...group, ...shapes.CampaignBody.properties }, closed),
    async ({ group_id, ...body }, { service, caller, telling, hangUp }) =>
      withLease(await service.campaign(caller, group_id, body, hangUp(), telling)),
  ),
  CampaignMany: unaryMethod(
    shapes.CampaignManyBody,
    async (body, { service, caller, charge, telling, hangUp }) => {
      charge(batchCost(body.campaigns.length));
      const { results } = await service.campaignMany(caller, body, hangUp(), telling);
      return { results: results.map(withLease) };
    },
    MANY_BYTES,
  ),
  Renew: unaryMethod(
    Type.Object({ ...group, ...shapes.RenewBody.properties }, closed),
    async ({ group_id, ...body }, { service, caller, telling }) =>
      withLease(await service.renew(caller, group_id, body, undefined, telling)),
  ),
  RenewMany: unaryMethod(
    shapes.RenewManyBody,
    async (body, { service, caller, charge, telling }) => {
      charge(batchCost(body.renewals.length));
      const { results } = await service.renewMany(caller, body, undefined, telling);
      return { results: results.map(withLease) };
    },
    MANY_BYTES,
  ),
  Resign: unaryMethod(
    Type.Object({ ...group, ...shapes.ResignBody.properties }, closed),
    ({ group_id, ...body }, { service, caller }) => service.resign(caller, group_id, body),
  ),
  Leader: unaryMethod(
    Type.Object({ ...group, ...shapes.LeaderQuery.properties }, closed),
    async ({ group_id, consistency }, { service, caller }) => {
      const { leader, ...rest } = await service.leader(caller, group_id, consistency === "local");
      return { ...rest, leader: leader === null ? null : withMetadataText(leader) };
    },
  ),
};

/** An answer whose lease has its metadata as text, if it has any. */
function withLease<T extends { leader?: { metadata?: Record<string, unknown> } | null }>(answer: T): object {
  const { leader } = answer;
  return leader === null || leader === undefined ? answer : { ...answer, leader: withMetadataText(leader) };
}
