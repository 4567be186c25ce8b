/**
 * One user of the client library, as a process: it says on the standard output when it follows and when it leads, with the time of
 * the clock that all processes of the machine share. `node follower-main.test-kit.js '{"kind": …}'`.
 */
import { Election, HttpElector } from "@tenure/client";
import { RoleManager } from "@tenure/client/roles";
import { CoordinatorCandidate, functionChild, listen } from "@tenure/coordinator";
import { sleep, systemClock } from "@tenure/core";

export interface FollowerOptions {
  readonly kind: "election" | "roles" | "coordinator";
  /** The first endpoint is tried first. */
  readonly endpoints: readonly string[];
  readonly groupId: string;
  readonly nodeId: string;
  readonly ttlMs: number;
  readonly takeoverDelayMs: number;
}

const LOOK_MS = 5;

function say(what: string): void {
  process.stdout.write(`${Number(process.hrtime.bigint()) / 1e6} ${what}\n`);
}

type Follow = (elector: HttpElector, options: FollowerOptions) => () => string | null;

/** Each starts to take part, and returns a function that names the leader it knows. */
const FOLLOW: Readonly<Record<FollowerOptions["kind"], Follow>> = {
  election: (elector, { groupId, nodeId, ttlMs }) => {
    const election = new Election(elector, { groupId, nodeId, ttlMs });
    election.onPromote(() => say("leads"));
    void election.start();
    return () => election.leaderId();
  },
  roles: (elector, { groupId, nodeId, ttlMs }) => {
    const manager = new RoleManager(elector, { nodeId, ttlMs });
    manager.add(groupId);
    manager.onRolePromote(() => say("leads"));
    void manager.start();
    return () => manager.status().roles[0]?.leaderId ?? null;
  },
  coordinator: (elector, { groupId, nodeId, ttlMs, takeoverDelayMs }) => {
    const work = functionChild("work", ({ signal }) => sleep(systemClock, 3_600_000, signal).catch(() => {}));
    const candidate = new CoordinatorCandidate({
      elector,
      groupId,
      nodeId,
      ttlMs,
      takeoverDelayMs,
      children: [work],
    });
    listen(({ event }) => {
      if (event === "became_leader") say("leads");
    });
    void candidate.start();
    return () => candidate.status()?.leaderId ?? null;
  },
};

async function main(options: FollowerOptions): Promise<void> {
  const elector = await HttpElector.open({ endpoints: options.endpoints, random: () => 0 });
  const leaderId = FOLLOW[options.kind](elector, options);
  while (leaderId() === null) await sleep(systemClock, LOOK_MS);
  say("follows");
}

await main(JSON.parse(process.argv[2] ?? "{}") as FollowerOptions);
