import { type GroupInput, type Leader, type PolicyInput, sleep, type TransferRequest } from "@tenure/core";
import type { ProcessClock, Random } from "@tenure/core/testing";
import { type Act, asked, perform } from "./acts.js";
import type { Environment } from "./environment.js";
import { isExpected } from "./environment.js";

const CALL_MS = 400;
const NOW_AND_THEN_MS = [200, 2200] as const;
const OFTEN_MS = [20, 300] as const;

/** An operator with all rights and no plan. If it acts by force, `by` ends in `force`, so that checkers can recognize it. */
export class SimOperator {
  readonly #environment: Environment;
  readonly #random: Random;
  readonly #nodeIds: () => readonly string[];
  readonly #clock: ProcessClock;
  #acts = 0;

  constructor(environment: Environment, random: Random, nodeIds: () => readonly string[]) {
    this.#environment = environment;
    this.#random = random;
    this.#nodeIds = nodeIds;
    this.#clock = environment.time.process();
  }

  /** Acts until the faults end; then it makes sure that no group stays paused, deleted or closed to every node. */
  async run(): Promise<void> {
    const { time, groupIds, profile } = this.#environment;
    await Promise.all(groupIds.map((groupId) => this.#insist(this.#create(groupId))));
    const [leastMs, mostMs] = profile.transfers ? OFTEN_MS : NOW_AND_THEN_MS;
    while (time.monotonicMs() < profile.chaosMs - 1500) {
      await sleep(time, this.#random.between(leastMs, mostMs));
      await this.#act(this.#random.pick(groupIds));
    }
    // A pause that was late lands first.
    await sleep(time, Math.max(0, profile.chaosMs + 300 - time.monotonicMs()));
    if (profile.explicitGroups) {
      await Promise.all(groupIds.map((groupId) => this.#insist(this.#create(groupId))));
      // A group that was there already still has the nodes that it allowed during the faults: perhaps none.
      await Promise.all(groupIds.map((groupId) => this.#insist(this.#allowAll(groupId))));
    }
    await Promise.all(groupIds.map((groupId) => this.#insist(this.#resume(groupId))));
    while (time.monotonicMs() < profile.chaosMs + profile.actsInPeaceMs) {
      await sleep(time, this.#random.between(200, 1200));
      await this.#act(this.#random.pick(groupIds));
    }
  }

  /** Changes a policy to the value that it has, again and again. */
  async keepBusy(periodMs: number): Promise<never> {
    for (;;) {
      await sleep(this.#environment.time, periodMs);
      const groupId = this.#random.pick(this.#environment.groupIds);
      void this.#try({ verb: "update", request: { groupId, policy: { minTtlMs: 300 } } });
    }
  }

  async #act(groupId: string): Promise<void> {
    const random = this.#random;
    const by = `op${++this.#acts}`;
    const dice = this.#environment.profile.transfers && random.chance(0.8) ? 0.4 : random.next();
    const inPeace = this.#environment.time.monotonicMs() >= this.#environment.profile.chaosMs;
    if (dice < 0.3) {
      const force = random.chance(0.25);
      const banMs = random.chance(0.6) ? random.int(200, 2000) : undefined;
      await this.#try({
        verb: "step-down",
        request: { groupId, by: force ? `${by}-force` : by, force, banMs },
      });
    } else if (dice < 0.5) {
      const toNodeId = random.pick(this.#nodeIds());
      await this.#try({
        verb: "transfer",
        request: {
          groupId,
          toNodeId,
          ...this.#warmTransfer(),
          by,
          timeoutMs: inPeace ? random.int(1500, 3000) : random.int(200, 1000),
        },
      });
    } else if (dice < 0.65) {
      const forMs = inPeace || random.chance(0.6) ? random.int(50, 1500) : undefined;
      await this.#try({ verb: "pause", request: { groupId, by, forMs, reason: `pause ${by}` } });
      await sleep(this.#environment.time, random.between(0, 1200));
      if (random.chance(0.8)) await this.#try(this.#resume(groupId));
    } else if (dice < 0.85) {
      await this.#try({
        verb: "update",
        request: { groupId, by, policy: this.#policy(), ...this.#allowed() },
      });
    } else if (dice < 0.95) {
      const force = random.chance(0.7);
      await this.#try({ verb: "delete", request: { groupId, by: force ? `${by}-force` : by, force } });
      await this.#try(this.#create(groupId));
    } else {
      await this.#try(this.#create(groupId));
    }
  }

  /** If candidates may be cold: sometimes to the successor that the elector chooses, sometimes to a cold one too. */
  #warmTransfer(): Pick<TransferRequest, "toNodeId" | "allowCold"> {
    if (this.#environment.profile.coldRate === 0) return {};
    const chosen = this.#random.chance(0.4) ? { toNodeId: undefined } : {};
    return { ...chosen, allowCold: this.#random.chance(0.3) };
  }

  #create(groupId: string): Act {
    const by = `op${++this.#acts}`;
    return { verb: "create", request: { groupId, by, policy: this.#policy(), ...this.#allowed() } };
  }

  #allowAll(groupId: string): Act {
    const by = `op${++this.#acts}`;
    return { verb: "update", request: { groupId, by, allowedNodes: [...new Set(this.#nodeIds())] } };
  }

  #resume(groupId: string): Act {
    this.#environment.checks.onResumeSent(groupId);
    return { verb: "resume", request: { groupId, by: `op${++this.#acts}` } };
  }

  /** Most or all of the nodes, where groups say so. */
  #allowed(): Pick<GroupInput, "allowedNodes"> {
    const { profile, time } = this.#environment;
    if (!profile.explicitGroups) return {};
    const all = [...new Set(this.#nodeIds())];
    const isPeace = time.monotonicMs() >= profile.chaosMs;
    return { allowedNodes: isPeace ? all : all.filter(() => this.#random.chance(0.8)) };
  }

  #policy(): PolicyInput {
    const takeoverDelayMs = this.#random.chance(0.6) ? this.#random.int(100, 600) : 0;
    const { preempt } = this.#environment.profile;
    const strategy = preempt || this.#random.chance(0.5) ? "priority" : "first";
    return { minTtlMs: 300, takeoverDelayMs, strategy, preempt };
  }

  async #try(act: Act): Promise<void> {
    await this.#call(act).catch(() => {});
  }

  async #insist(act: Act): Promise<void> {
    const { core } = this.#environment.modules;
    for (;;) {
      try {
        await this.#call(act);
        return;
      } catch (error) {
        if (error instanceof core.ConflictError || error instanceof core.GroupNotFoundError) return;
        await sleep(this.#environment.time, 30);
      }
    }
  }

  #call(act: Act): Promise<Leader | null> {
    const { network, servers, trace, checks, modules } = this.#environment;
    checks.onActSent(act);
    trace?.note("admin", `${act.verb} ${JSON.stringify(act.request)}`);
    return network.call({
      from: this.#clock,
      server: this.#random.pick(servers),
      timeoutMs: act.verb === "transfer" ? CALL_MS + (act.request.timeoutMs ?? 0) : CALL_MS,
      ...(act.verb === "transfer" ? { waitMs: act.request.timeoutMs ?? 0 } : {}),
      run: (admin, _, { number }) => perform(admin, asked(act, number)),
      onAnswer: (leader, arrivedMs, answeredMs, { number }) =>
        checks.onActed({ act: asked(act, number), outcome: "done", leader, arrivedMs, answeredMs }),
      onError: (error, arrivedMs, answeredMs, { number }) => {
        const done = { act: asked(act, number), leader: null, arrivedMs, answeredMs };
        if (error instanceof modules.core.ConflictError) checks.onActed({ ...done, outcome: "refused" });
        else if (!isExpected(this.#environment, error)) checks.unexpected(error);
      },
    });
  }
}
