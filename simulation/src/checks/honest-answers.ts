import type { ResignRequest } from "@tenure/core";
import type { Answer, Check, CheckContext } from "./check.js";

/**
 * S9, L2: a success is answered after a write of its own, made since the request arrived; a refusal is true when it is
 * given. A term that has ended never comes back, so a refusal that was true stays true.
 */
export class HonestAnswers implements Check {
  readonly #context: CheckContext;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  onAnswer(answer: Answer): void {
    const { verb, request, result } = answer;
    if (result.kind === "elected" || result.kind === "renewed") {
      if (!this.#hasOwnWrite(answer, result.leader.term)) {
        this.#context.fail(
          "S9",
          `${verb} of ${request.nodeId} is answered ${result.kind} in term ${result.leader.term}, unwritten`,
        );
      }
    } else if (answer.verb !== "campaign") {
      const holds = this.#holds(answer.request, answer.verb === "renew");
      if (result.kind === "resigned" && holds) {
        this.#context.fail(
          "S9",
          `${request.nodeId} is answered that it has resigned term ${answer.request.term}, and holds it`,
        );
      } else if (result.kind === "resigned" && !this.#hasResigned(answer.request)) {
        this.#context.fail(
          "S9",
          `${request.nodeId} is answered that it has resigned term ${answer.request.term}, which it never gave up`,
        );
      } else if (result.kind === "not-leader" && holds) {
        this.#context.fail(
          "L2",
          `${verb} of ${request.nodeId} in term ${answer.request.term}: not the leader, and it holds it`,
        );
      }
    }
  }

  /** Its term has ended, and not because its lease expired. */
  #hasResigned({ groupId, nodeId, term, instanceId }: ResignRequest): boolean {
    const { writes } = this.#context.truth(groupId);
    return writes.some(({ events, previous }) => {
      const holder = previous?.record.term === term ? previous.record.holder : null;
      return (
        holder?.nodeId === nodeId &&
        (instanceId === undefined || holder.instanceId === instanceId) &&
        events.some((event) => event.type === "LEADER_LOST" && event.reason !== "expired")
      );
    });
  }

  #hasOwnWrite({ verb, request, arrivedMs, answeredMs }: Answer, term: number): boolean {
    const isAnyInstance = verb === "renew" && request.instanceId === undefined;
    for (const write of this.#context.truth(request.groupId).between(arrivedMs, answeredMs)) {
      if (write === null || write.atMs < arrivedMs) continue;
      const { holder } = write.record;
      const isIt =
        write.record.term === term &&
        holder?.nodeId === request.nodeId &&
        (isAnyInstance || holder.instanceId === (request.instanceId ?? null));
      if (isIt) return true;
    }
    return false;
  }

  #holds(
    claim: { groupId: string; nodeId: string; term: number; instanceId?: string | undefined },
    renews: boolean,
  ): boolean {
    const record = this.#context.truth(claim.groupId).record;
    const holder = record?.holder;
    return (
      record?.term === claim.term &&
      holder?.nodeId === claim.nodeId &&
      (claim.instanceId === undefined || holder.instanceId === claim.instanceId) &&
      !(renews && record.deposed !== null)
    );
  }
}
