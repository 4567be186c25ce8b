/** What a simulated server answers over HTTP: its elector behind the routes of the service, in the shapes of the service. */
import type { CampaignRequest, ElectorAdmin, RenewRequest, ResignRequest } from "@tenure/core";
import type { Answer } from "@tenure/client/parts";
import type { shapes } from "@tenure/server/parts";
import type { Answer as Told } from "../checks/check.js";
import type { CoreModule } from "../core-module.js";

export interface HttpRequest {
  readonly path: string;
  readonly body: unknown;
}

/** What was decided, for the checkers. */
export type Decided = Omit<Told, "arrivedMs" | "answeredMs">;

export interface Served {
  readonly answer: Answer;
  readonly decided: readonly Decided[];
}

const GROUP_PATH = /^\/v1\/groups\/([^/]+)\/(\w+)$/;
const WITH_METADATA = { withMetadata: true } as const;

/** A campaign, so that checkers know which candidate waits where. */
export function campaignOf(
  { codec }: CoreModule["server"],
  request: HttpRequest,
): CampaignRequest | undefined {
  const [, groupId = "", verb] = GROUP_PATH.exec(request.path) ?? [];
  return verb === "campaign"
    ? codec.campaignRequest(groupId, request.body as shapes.CampaignBody)
    : undefined;
}

export class SimService {
  readonly #modules: CoreModule;
  readonly #elector: ElectorAdmin;
  readonly #decided: Decided[] = [];

  constructor(modules: CoreModule, elector: ElectorAdmin) {
    this.#modules = modules;
    this.#elector = elector;
  }

  async serve(request: HttpRequest, signal: AbortSignal): Promise<Served> {
    try {
      return { answer: ok(await this.#route(request, signal)), decided: this.#decided };
    } catch (error) {
      return { answer: this.#refusal(error), decided: this.#decided };
    }
  }

  #route({ path, body }: HttpRequest, signal: AbortSignal): Promise<unknown> {
    if (path === "/v1/campaign") {
      const { campaigns } = body as shapes.CampaignManyBody;
      return this.#each(campaigns, ({ group_id, ...each }) => this.#campaign(group_id, each, signal));
    }
    if (path === "/v1/renew") return this.#renewMany(body as shapes.RenewManyBody);
    const [, groupId = "", verb] = GROUP_PATH.exec(path) ?? [];
    switch (verb) {
      case "campaign":
        return this.#campaign(groupId, body as shapes.CampaignBody, signal);
      case "resign":
        return this.#resign(groupId, body as shapes.ResignBody);
      case "leader":
        return this.#leader(groupId);
      case "watch":
        return this.#state(groupId, signal);
      default:
        throw new Error(`no route ${path}`);
    }
  }

  async #campaign(
    groupId: string,
    body: shapes.CampaignBody,
    signal: AbortSignal,
  ): Promise<shapes.CampaignReply> {
    const { codec } = this.#modules.server;
    const request: CampaignRequest = codec.campaignRequest(groupId, body);
    const result = await this.#elector.campaign(request, { signal });
    this.#decided.push({ verb: "campaign", request, result });
    return result.kind === "elected" ? codec.electedShape(result) : codec.lostShape(result, WITH_METADATA);
  }

  async #renewMany({ renewals }: shapes.RenewManyBody): Promise<unknown> {
    const { codec, notLeader, asServiceError } = this.#modules.server;
    const requests: RenewRequest[] = renewals.map((each) => codec.renewRequest(each.group_id, each));
    const results = (await this.#elector.renewMany(requests)).values();
    return this.#each(renewals, async (_, index) => {
      const result = results.next().value;
      if (result === undefined) throw new Error("a renewal was not answered");
      if (result.kind === "failed") throw asServiceError(result.error);
      this.#decided.push({ verb: "renew", request: requests[index], result } as Decided);
      if (result.kind === "not-leader") throw notLeader(result);
      return codec.renewedShape(result, WITH_METADATA);
    });
  }

  async #resign(groupId: string, body: shapes.ResignBody): Promise<unknown> {
    const { codec, notLeader } = this.#modules.server;
    const request: ResignRequest = codec.resignRequest(groupId, body);
    const result = await this.#elector.resign(request);
    this.#decided.push({ verb: "resign", request, result });
    if (result.kind === "not-leader") throw notLeader(result);
    return { ok: true };
  }

  async #leader(groupId: string): Promise<shapes.LeaderReply> {
    return this.#modules.server.codec.leaderShape(await this.#elector.leader(groupId), false);
  }

  /** A long poll without a cursor: the state, at once. */
  async #state(groupId: string, signal: AbortSignal): Promise<shapes.EventsReply> {
    for await (const event of this.#elector.watch(groupId, { signal }))
      return {
        events: [this.#modules.server.codec.eventShape(groupId, event)],
        cursor: String(event.cursor),
      };
    throw new Error("a watch ended");
  }

  async #each<T extends { readonly group_id: string }>(
    all: readonly T[],
    one: (each: T, index: number) => Promise<object>,
  ): Promise<unknown> {
    const results = [];
    for (const [index, each] of all.entries()) {
      const result = await one(each, index).catch((error: unknown) => this.#refusal(error).body as object);
      results.push({ group_id: each.group_id, ...result });
    }
    return { results };
  }

  /** A fault of the program is not answered: the schedule has failed. */
  #refusal(error: unknown): Answer {
    const { asServiceError, ServiceError } = this.#modules.server;
    const refusal = asServiceError(error);
    if (!(refusal instanceof ServiceError)) throw error;
    const { statusCode: status, retryAfterSeconds } = refusal;
    const retryAfterMs = retryAfterSeconds === undefined ? null : retryAfterSeconds * 1000;
    return { status, retryAfterMs, body: overTheWire(refusal.reply()) };
  }
}

function ok(body: unknown): Answer {
  return { status: 200, retryAfterMs: null, body: overTheWire(body) };
}

/** The body as it arrives: undefined fields are left out. */
function overTheWire(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body)) as unknown;
}
