import { batchCost } from "../limits/admission.js";
import type { App, AppParts } from "./app.js";
import { hangUpOf } from "./hang-up.js";
import { tellingOf } from "../wire/telling.js";
import * as shapes from "../wire/shapes.js";

const MANY_BYTES = 1024 * 1024;
const tags = ["elections"];
const refusals = { "4xx": shapes.ErrorReply, "5xx": shapes.ErrorReply };

export function electionRoutes(app: App, { service }: AppParts): void {
  app.post(
    "/v1/groups/:group_id/campaign",
    {
      schema: {
        tags,
        summary: "Try to become the leader, or wait for it",
        params: shapes.GroupParams,
        querystring: shapes.NoQuery,
        body: shapes.CampaignBody,
        response: { 200: shapes.CampaignReply, ...refusals },
      },
    },
    (request, reply) =>
      service.campaign(
        request.caller,
        request.params.group_id,
        request.body,
        hangUpOf(reply),
        tellingOf(request.headers["prefer"]),
      ),
  );

  app.post(
    "/v1/campaign",
    {
      bodyLimit: MANY_BYTES,
      schema: {
        tags,
        summary: "Try to become the leader of many groups; each result stands alone",
        querystring: shapes.NoQuery,
        body: shapes.CampaignManyBody,
        response: { 200: shapes.CampaignManyReply, ...refusals },
      },
    },
    (request, reply) => {
      request.charge(batchCost(request.body.campaigns.length));
      return service.campaignMany(
        request.caller,
        request.body,
        hangUpOf(reply),
        tellingOf(request.headers["prefer"]),
      );
    },
  );

  app.post(
    "/v1/groups/:group_id/renew",
    {
      schema: {
        tags,
        summary: "Keep the lease",
        params: shapes.GroupParams,
        querystring: shapes.NoQuery,
        body: shapes.RenewBody,
        response: { 200: shapes.RenewReply, ...refusals },
      },
    },
    (request) =>
      service.renew(
        request.caller,
        request.params.group_id,
        request.body,
        undefined,
        tellingOf(request.headers["prefer"]),
      ),
  );

  app.post(
    "/v1/renew",
    {
      bodyLimit: MANY_BYTES,
      schema: {
        tags,
        summary: "Keep many leases; each result stands alone",
        querystring: shapes.NoQuery,
        body: shapes.RenewManyBody,
        response: { 200: shapes.RenewManyReply, ...refusals },
      },
    },
    (request) => {
      request.charge(batchCost(request.body.renewals.length));
      return service.renewMany(request.caller, request.body, undefined, tellingOf(request.headers["prefer"]));
    },
  );

  app.post(
    "/v1/groups/:group_id/resign",
    {
      schema: {
        tags,
        summary: "Give the lease back",
        params: shapes.GroupParams,
        querystring: shapes.NoQuery,
        body: shapes.ResignBody,
        response: { 200: shapes.OkReply, ...refusals },
      },
    },
    (request) => service.resign(request.caller, request.params.group_id, request.body),
  );

  app.get(
    "/v1/groups/:group_id/leader",
    {
      schema: {
        tags,
        summary: "Who leads",
        params: shapes.GroupParams,
        querystring: shapes.LeaderQuery,
        response: { 200: shapes.LeaderReply, ...refusals },
      },
    },
    (request) =>
      service.leader(request.caller, request.params.group_id, request.query.consistency === "local"),
  );
}
