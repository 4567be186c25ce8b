import { type ElectorAdmin, type PolicyInput, sleep } from "@tenure/core";
import type { ProcessClock, Random } from "@tenure/core/testing";
import type { Environment } from "./environment.js";
import { isExpected } from "./environment.js";

const CALL_MS = 400;
const BUSY_MS = 120;

/** Somebody with all rights and no plan. Where it acts by force, `by` ends in `force`, so that checkers can tell. */
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

  /** Until the faults end; then it makes sure that no group stays paused. */
  async run(): Promise<void> {
    const { time, groupIds, profile } = this.#environment;
    await Promise.all(groupIds.map((groupId) => this.#insist(this.#create(groupId))));
    while (time.monotonicMs() < profile.chaosMs - 1500) {
      await sleep(time, this.#random.between(200, 2200));
      await this.#act(this.#random.pick(groupIds));
    }
    // A pause that was late lands first.
    await sleep(time, Math.max(0, profile.chaosMs + 300 - time.monotonicMs()));
    await Promise.all(groupIds.map((groupId) => this.#insist(this.#resume(groupId))));
  }

  /** Changes a policy to what it is, for ever. */
  async keepBusy(): Promise<never> {
    for (;;) {
      await sleep(this.#environment.time, BUSY_MS);
      const groupId = this.#random.pick(this.#environment.groupIds);
      void this.#call("patches", (admin) => admin.updateGroup({ groupId, policy: { minTtlMs: 300 } })).catch(
        () => {},
      );
    }
  }

  async #act(groupId: string): Promise<void> {
    const random = this.#random;
    const by = `op${++this.#acts}`;
    const dice = random.next();
    if (dice < 0.3) {
      const force = random.chance(0.25);
      const banMs = random.chance(0.6) ? random.int(200, 2000) : undefined;
      const request = { groupId, by: force ? `${by}-force` : by, force, banMs };
      await this.#try(`steps down ${JSON.stringify(request)}`, async (admin) => {
        await admin.stepDown(request);
        this.#environment.checks.onStepDown(request);
      });
    } else if (dice < 0.5) {
      const toNodeId = random.pick(this.#nodeIds());
      const timeoutMs = random.int(200, 1000);
      await this.#try(`transfers to ${toNodeId}`, (admin) =>
        admin.transfer({ groupId, toNodeId, by, timeoutMs }),
      );
    } else if (dice < 0.65) {
      const forMs = random.chance(0.6) ? random.int(50, 1500) : undefined;
      await this.#try(`pauses for ${forMs ?? "ever"}`, (admin) => admin.pause({ groupId, forMs }));
      await sleep(this.#environment.time, random.between(0, 1200));
      if (random.chance(0.8)) await this.#try("resumes", this.#resume(groupId));
    } else if (dice < 0.85) {
      const policy = this.#policy();
      await this.#try(`sets ${JSON.stringify(policy)}`, (admin) => admin.updateGroup({ groupId, policy }));
    } else if (dice < 0.95) {
      const force = random.chance(0.7);
      await this.#try("deletes", (admin) =>
        admin.deleteGroup({ groupId, by: force ? `${by}-force` : by, force }),
      );
      await this.#try("creates", this.#create(groupId));
    } else {
      await this.#try("creates", this.#create(groupId));
    }
  }

  #create(groupId: string): (admin: ElectorAdmin) => Promise<unknown> {
    const policy = this.#policy();
    return (admin) => admin.createGroup({ groupId, policy });
  }

  #resume(groupId: string): (admin: ElectorAdmin) => Promise<void> {
    this.#environment.checks.onResumeSent(groupId);
    return (admin) => admin.resume({ groupId });
  }

  #policy(): PolicyInput {
    const takeoverDelayMs = this.#random.chance(0.6) ? this.#random.int(100, 600) : 0;
    const { preempt } = this.#environment.profile;
    const strategy = preempt || this.#random.chance(0.5) ? "priority" : "first";
    return { minTtlMs: 300, takeoverDelayMs, strategy, preempt };
  }

  async #try(what: string, act: (admin: ElectorAdmin) => Promise<unknown>): Promise<void> {
    await this.#call(what, act).catch(() => {});
  }

  async #insist(act: (admin: ElectorAdmin) => Promise<unknown>): Promise<void> {
    const { core } = this.#environment.modules;
    for (;;) {
      try {
        await this.#call("insists", act);
        return;
      } catch (error) {
        if (error instanceof core.ConflictError) return;
        await sleep(this.#environment.time, 30);
      }
    }
  }

  #call(what: string, act: (admin: ElectorAdmin) => Promise<unknown>): Promise<unknown> {
    const { network, servers, trace, checks } = this.#environment;
    trace?.note("admin", what);
    return network.call({
      from: this.#clock,
      server: this.#random.pick(servers),
      timeoutMs: CALL_MS,
      run: act,
      onError: (error) => {
        if (!isExpected(this.#environment, error)) checks.unexpected(error);
      },
    });
  }
}
