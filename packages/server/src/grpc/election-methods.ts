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
    ({ group_id, ...body }, { service, caller, hangUp }) =>
      service.campaign(caller, group_id, body, hangUp()),
  ),
  Renew: unaryMethod(
    Type.Object({ ...group, ...shapes.RenewBody.properties }, closed),
    ({ group_id, ...body }, { service, caller }) => service.renew(caller, group_id, body),
  ),
  RenewMany: unaryMethod(
    shapes.RenewManyBody,
    (body, { service, caller, charge }) => {
      charge(batchCost(body.renewals.length));
      return service.renewMany(caller, body);
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
