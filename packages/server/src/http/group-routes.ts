import { pageCost } from "../limits/admission.js";
import { parseCount } from "../wire/parse-count.js";
import * as shapes from "../wire/shapes.js";
import type { App, AppParts } from "./app.js";
import { hangUpOf } from "./hang-up.js";

const tags = ["groups"];
const refusals = { "4xx": shapes.ErrorReply, "5xx": shapes.ErrorReply };
const params = shapes.GroupParams;
const querystring = shapes.NoQuery;

export function groupRoutes(app: App, { service }: AppParts): void {
  app.post(
    "/v1/groups",
    {
      schema: {
        tags,
        summary: "Create a group",
        querystring,
        body: shapes.GroupBody,
        response: { 201: shapes.GroupShape, ...refusals },
      },
    },
    async (request, reply) => {
      const group = await service.createGroup(request.caller, request.body);
      return reply.code(201).send(group);
    },
  );

  app.get(
    "/v1/groups",
    {
      schema: {
        tags,
        summary: "List groups",
        querystring: shapes.GroupsQuery,
        response: { 200: shapes.GroupsReply, ...refusals },
      },
    },
    async (request) => {
      const { limit, ...rest } = request.query;
      const query = { ...rest, ...(limit === undefined ? {} : { limit: parseCount(limit, "limit") }) };
      const page = await service.groups(request.caller, query);
      request.charge(pageCost(page.groups.length));
      return page;
    },
  );

  app.get(
    "/v1/groups/:group_id",
    {
      schema: {
        tags,
        summary: "Show a group",
        params,
        querystring,
        response: { 200: shapes.GroupShape, ...refusals },
      },
    },
    (request) => service.group(request.caller, request.params.group_id),
  );

  app.patch(
    "/v1/groups/:group_id",
    {
      schema: {
        tags,
        summary: "Change a group",
        params,
        querystring,
        body: shapes.GroupPatch,
        response: { 200: shapes.GroupShape, ...refusals },
      },
    },
    (request) => service.updateGroup(request.caller, request.params.group_id, request.body),
  );

  app.delete(
    "/v1/groups/:group_id",
    {
      schema: {
        tags,
        summary: "Delete a group; its term survives",
        params,
        querystring: shapes.DeleteQuery,
        response: { 200: shapes.OkReply, ...refusals },
      },
    },
    (request) => service.deleteGroup(request.caller, request.params.group_id, request.query.force === "true"),
  );

  app.get(
    "/v1/groups/:group_id/members",
    {
      schema: {
        tags,
        summary: "Who has given a sign of life",
        params,
        querystring,
        response: { 200: shapes.MembersReply, ...refusals },
      },
    },
    (request) => service.members(request.caller, request.params.group_id),
  );

  app.get(
    "/v1/groups/:group_id/health",
    {
      schema: {
        tags,
        summary: "Who is healthy, suspect or down, and since when",
        params,
        querystring,
        response: { 200: shapes.MemberHealthReply, ...refusals },
      },
    },
    (request) => service.health(request.caller, request.params.group_id),
  );

  app.post(
    "/v1/groups/:group_id/heartbeat",
    {
      schema: {
        tags,
        summary: "Give a sign of life",
        params,
        querystring,
        body: shapes.HeartbeatBody,
        response: { 200: shapes.OkReply, ...refusals },
      },
    },
    (request) => service.heartbeat(request.caller, request.params.group_id, request.body),
  );

  app.post(
    "/v1/groups/:group_id/step-down",
    {
      schema: {
        tags,
        summary: "Make the leader go",
        params,
        querystring,
        body: shapes.StepDownBody,
        response: { 200: shapes.OkReply, ...refusals },
      },
    },
    (request) => service.stepDown(request.caller, request.params.group_id, request.body),
  );

  app.post(
    "/v1/groups/:group_id/transfer",
    {
      schema: {
        tags,
        summary: "Hand the leadership to a waiting node",
        params,
        querystring,
        body: shapes.TransferBody,
        response: { 200: shapes.TransferReply, ...refusals },
      },
    },
    (request, reply) =>
      service.transfer(request.caller, request.params.group_id, request.body, hangUpOf(reply)),
  );

  app.post(
    "/v1/groups/:group_id/pause",
    {
      schema: {
        tags,
        summary: "Let no one win",
        params,
        querystring,
        body: shapes.OptionalPauseBody,
        response: { 200: shapes.OkReply, ...refusals },
      },
    },
    (request) => service.pause(request.caller, request.params.group_id, request.body ?? {}),
  );

  app.post(
    "/v1/groups/:group_id/resume",
    {
      schema: {
        tags,
        summary: "End a pause",
        params,
        querystring,
        body: shapes.OptionalResumeBody,
        response: { 200: shapes.OkReply, ...refusals },
      },
    },
    (request) => service.resume(request.caller, request.params.group_id, request.body ?? {}),
  );

  app.get(
    "/v1/groups/:group_id/history",
    {
      schema: {
        tags,
        summary: "The last 64 changes",
        params,
        querystring,
        response: { 200: shapes.HistoryReply, ...refusals },
      },
    },
    (request) => service.history(request.caller, request.params.group_id),
  );
}
