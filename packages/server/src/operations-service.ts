/** The verbs about the service itself, which need no elector. */
import type { ReplyOf } from "@tenure/api/schemas";
import type { AskedFor } from "./asked.js";
import type { AttentionList } from "./attention/attention-list.js";
import { checkMaySeeAll, maySee } from "./auth/caller.js";
import { pageCost } from "./limits/admission.js";
import type { MandateSigner } from "./mandates/mandate-signer.js";
import type { Sampler } from "./samples/sampler.js";
import type { ServerInfo } from "./server-info.js";

export interface OperationsDeps {
  readonly signer: MandateSigner | null;
  readonly info: ServerInfo;
  readonly sampler: Sampler;
  readonly attention: AttentionList;
}

export class OperationsService {
  readonly #deps: OperationsDeps;

  constructor(deps: OperationsDeps) {
    this.#deps = deps;
  }

  async whoami({ caller }: AskedFor<"whoami">): Promise<ReplyOf<"whoami">> {
    const groups = caller.role === "admin" || caller.groups === null ? null : [...caller.groups];
    return { name: caller.name, role: caller.role, groups };
  }

  async attention({ caller, charge }: AskedFor<"attention">): Promise<ReplyOf<"attention">> {
    const reply = this.#deps.attention.reply((groupId) => maySee(caller, groupId));
    charge(pageCost(reply.findings.length));
    return reply;
  }

  async server(_: AskedFor<"server">): Promise<ReplyOf<"server">> {
    return this.#deps.info.reply();
  }

  async samples({ caller, input }: AskedFor<"samples">): Promise<ReplyOf<"samples">> {
    checkMaySeeAll(caller, "samples count");
    return this.#deps.sampler.reply(input.since_ms);
  }

  async keys(_: AskedFor<"keys">): Promise<ReplyOf<"keys">> {
    return { keys: [...(this.#deps.signer?.keys() ?? [])] };
  }
}
