/**
 * Asks the servers for everything but the leader: groups, members, health, history. It runs beside the servers, because
 * their answers are checked. It also sends heartbeats, and campaigns that must be refused.
 */
import { type ElectorAdmin, type Group, sleep } from "@tenure/core";
import type { Random } from "@tenure/core/testing";
import { type Environment, isExpected } from "./environment.js";
import { CallLost } from "./network.js";

/** A node that no group allows, if groups list their nodes. */
export const INTRUDER = "intruder";
const OBSERVER = "observer";
/** So that all groups take several pages. */
const PAGE = 2;

export class Inquirer {
  readonly #environment: Environment;
  readonly #random: Random;
  #strangers = 0;

  constructor(environment: Environment, random: Random) {
    this.#environment = environment;
    this.#random = random;
  }

  async run(): Promise<never> {
    const { time, servers } = this.#environment;
    for (;;) {
      await sleep(time, this.#random.between(50, 300));
      const { process, name } = this.#random.pick(servers);
      if (process === null || !process.clock.isRunning) continue;
      const lost = new Promise<never>((_, reject) =>
        process.onCrash(() => reject(new CallLost("connection reset"))),
      );
      lost.catch(() => {});
      // The server may crash in the middle; then there is no answer, and no other question waits for it.
      this.#ask(name, process.elector, lost).catch((error: unknown) => {
        if (!isExpected(this.#environment, error)) this.#environment.checks.unexpected(error);
      });
    }
  }

  #ask(server: string, elector: ElectorAdmin, lost: Promise<never>): Promise<void> {
    const groupId = this.#random.pick(this.#environment.groupIds);
    const dice = this.#random.next();
    if (dice < 0.25) return this.#list(server, elector, lost);
    if (dice < 0.4) return this.#look(server, elector, lost, groupId);
    if (dice < 0.55) return this.#recall(server, elector, lost, groupId);
    if (dice < 0.8) return this.#meet(server, elector, lost, groupId);
    return this.#intrude(server, elector, lost, groupId);
  }

  async #list(server: string, elector: ElectorAdmin, lost: Promise<never>): Promise<void> {
    const { time, checks } = this.#environment;
    const fromMs = time.monotonicMs();
    const listed: Group[] = [];
    let cursor: string | undefined;
    do {
      const page = await Promise.race([elector.groups({ limit: PAGE, cursor }), lost]);
      listed.push(...page.groups);
      cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    checks.onListed({ server, fromMs, toMs: time.monotonicMs(), groups: listed });
  }

  async #look(server: string, elector: ElectorAdmin, lost: Promise<never>, groupId: string): Promise<void> {
    const { time, checks } = this.#environment;
    const fromMs = time.monotonicMs();
    const group = await Promise.race([elector.group(groupId), lost]);
    checks.onLooked({ server, fromMs, toMs: time.monotonicMs(), group });
  }

  async #recall(server: string, elector: ElectorAdmin, lost: Promise<never>, groupId: string): Promise<void> {
    const { time, checks } = this.#environment;
    const fromMs = time.monotonicMs();
    const { events } = await Promise.race([elector.history(groupId), lost]);
    checks.onRecalled({ server, groupId, fromMs, toMs: time.monotonicMs(), events });
  }

  /** A heartbeat, and at once a read of the members. */
  async #meet(server: string, elector: ElectorAdmin, lost: Promise<never>, groupId: string): Promise<void> {
    const { time, checks } = this.#environment;
    const fromMs = time.monotonicMs();
    const metadata = { at: fromMs };
    await Promise.race([elector.heartbeat({ groupId, nodeId: OBSERVER, metadata }), lost]);
    const members = await Promise.race([elector.members(groupId), lost]);
    const health = await Promise.race([elector.health(groupId), lost]);
    const nodeIds = {
      members: members.map(({ nodeId }) => nodeId),
      health: health.map(({ nodeId }) => nodeId),
    };
    checks.onMet({ server, groupId, fromMs, toMs: time.monotonicMs(), wanted: OBSERVER, ...nodeIds });
  }

  /** Both are refused: a node that is not allowed, and a group that was not created. */
  async #intrude(
    server: string,
    elector: ElectorAdmin,
    lost: Promise<never>,
    groupId: string,
  ): Promise<void> {
    const { checks } = this.#environment;
    const isKnown = this.#random.chance(0.5);
    const request = { nodeId: INTRUDER, ttlMs: 1000, metadata: { is: "not allowed" } };
    const asked = isKnown ? groupId : `x${++this.#strangers}`;
    const result = await Promise.race([elector.campaign({ ...request, groupId: asked }), lost]);
    checks.onIntruded(server, asked, result);
  }
}
