import { Type } from "typebox";
import { ServiceError } from "../service-error.js";
import { pageCost } from "../limits/admission.js";
import * as shapes from "../wire/shapes.js";
import { withMetadataText } from "./metadata-text.js";
import { type UnaryMethod, unaryMethod } from "./unary-method.js";

const closed = { additionalProperties: false } as const;
const { GroupParams } = shapes;
const group = GroupParams.properties;

/** The schemas are those of HTTP: a path's parameters, a query and a body in one message. */
export const groupMethods: Readonly<Record<string, UnaryMethod>> = {
  Create: unaryMethod(shapes.GroupBody, async (body, { service, caller }) =>
    groupMessage(await service.createGroup(caller, body)),
  ),
  Get: unaryMethod(GroupParams, async ({ group_id }, { service, caller }) =>
    groupMessage(await service.group(caller, group_id)),
  ),
  List: unaryMethod(
    Type.Object(
      { ...shapes.GroupsQuery.properties, limit: Type.Optional(Type.Integer({ minimum: 0 })) },
      closed,
    ),
    async ({ cursor, ...query }, { service, caller, charge }) => {
      // An empty text is how many languages say none.
      const from = cursor === undefined || cursor === "" ? {} : { cursor };
      const page = await service.groups(caller, { ...query, ...from });
      charge(pageCost(page.groups.length));
      return { groups: page.groups.map(groupMessage), cursor: page.cursor };
    },
  ),
  Update: unaryMethod(
    Type.Object(
      { ...group, ...shapes.GroupPatch.properties, allow_all_nodes: Type.Optional(Type.Boolean()) },
      closed,
    ),
    async ({ group_id, allow_all_nodes, ...patch }, { service, caller }) =>
      groupMessage(
        await service.updateGroup(caller, group_id, allow_all_nodes === true ? allowingAll(patch) : patch),
      ),
  ),
  Delete: unaryMethod(
    Type.Object({ ...group, force: Type.Optional(Type.Boolean()) }, closed),
    ({ group_id, force }, { service, caller }) => service.deleteGroup(caller, group_id, force === true),
  ),
  Members: unaryMethod(GroupParams, async ({ group_id }, { service, caller }) => {
    const { members } = await service.members(caller, group_id);
    return { members: members.map(withMetadataText) };
  }),
  Health: unaryMethod(GroupParams, async ({ group_id }, { service, caller }) => {
    const { members } = await service.health(caller, group_id);
    return { members: members.map(withMetadataText) };
  }),
  Heartbeat: unaryMethod(
    Type.Object({ ...group, ...shapes.HeartbeatBody.properties }, closed),
    ({ group_id, ...body }, { service, caller }) => service.heartbeat(caller, group_id, body),
  ),
  StepDown: unaryMethod(
    Type.Object({ ...group, ...shapes.StepDownBody.properties }, closed),
    ({ group_id, ...body }, { service, caller }) => service.stepDown(caller, group_id, body),
  ),
  Transfer: unaryMethod(
    Type.Object({ ...group, ...shapes.TransferBody.properties }, closed),
    ({ group_id, ...body }, { service, caller, hangUp }) =>
      service.transfer(caller, group_id, body, hangUp()),
  ),
  Pause: unaryMethod(
    Type.Object({ ...group, ...shapes.PauseBody.properties }, closed),
    ({ group_id, ...body }, { service, caller }) => service.pause(caller, group_id, body),
  ),
  Resume: unaryMethod(
    Type.Object({ ...group, ...shapes.ResumeBody.properties }, closed),
    ({ group_id, ...body }, { service, caller }) => service.resume(caller, group_id, body),
  ),
  History: unaryMethod(GroupParams, ({ group_id }, { service, caller }) => service.history(caller, group_id)),
};

function groupMessage({ allowed_nodes, ...rest }: shapes.GroupShape): object {
  return { ...rest, allowed_nodes: allowed_nodes === null ? null : { node_ids: allowed_nodes } };
}

function allowingAll(patch: shapes.GroupPatch): shapes.GroupPatch {
  if (patch.allowed_nodes === undefined) return { ...patch, allowed_nodes: null };
  const field = "allow_all_nodes";
  throw new ServiceError("INVALID_REQUEST", `${field} contradicts the allowed_nodes beside it`, { field });
}
