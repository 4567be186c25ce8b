/** A node in one region, over the store whose URL is given: it leads, waits, and measures its own renewals. */
import { Election, type ElectionMetrics, openElector } from "@tenure/client";
import { systemClock } from "@tenure/core";
import { answerOwner } from "./child.js";
import type { HeldTtl, RegionAnswer, RegionQuestion } from "./regions.js";

const [url = "", nodeId = ""] = process.argv.slice(2);
const opened = openElector(url);
let elected: Promise<number> | undefined;

answerOwner<RegionQuestion, RegionAnswer>(async (question) => {
  switch (question.kind) {
    case "renew":
      return { latenciesMs: await renewMany(question.groups, question.rounds) };
    case "hold":
      return { held: await hold(question.ttlsMs, question.durationMs) };
    case "lead":
      return { atMs: await lead(question.groupId, question.ttlMs) };
    case "wait":
      elected = lead(question.groupId, question.ttlMs);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      return {};
    case "elected":
      return { atMs: (await elected) ?? Number.NaN };
  }
});

/** The latency of each renewal, of many groups at the same time. */
async function renewMany(groups: number, rounds: number): Promise<number[]> {
  const elector = await opened;
  const ttlMs = 30_000;
  const all = await Promise.all(
    Array.from({ length: groups }, async (_, index) => {
      const groupId = `renew/${nodeId}/${index}`;
      const won = await elector.campaign({ groupId, nodeId, instanceId: nodeId, ttlMs });
      if (won.kind === "lost") throw new Error(`${groupId} is led by another node`);
      const latenciesMs: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const sentMs = systemClock.monotonicMs();
        await elector.renew({ groupId, nodeId, instanceId: nodeId, term: won.leader.term, ttlMs });
        latenciesMs.push(systemClock.monotonicMs() - sentMs);
      }
      return latenciesMs;
    }),
  );
  return all.flat();
}

/** Leads a group with each of these ttls, and counts the leaderships that ended and the renewals. */
async function hold(ttlsMs: readonly number[], durationMs: number): Promise<HeldTtl[]> {
  const elector = await opened;
  const held = ttlsMs.map((ttlMs) => {
    const counts = { ttlMs, renewed: 0, failed: 0, lost: 0 };
    const metrics: ElectionMetrics = {
      ...NOTHING,
      heartbeat: (_, outcome) => void (counts[outcome] += 1),
    };
    const election = new Election(elector, { groupId: `hold/${ttlMs}`, nodeId, ttlMs, metrics });
    election.on("demoting", ({ reason }) => {
      if (reason !== "stopped") counts.lost += 1;
    });
    return { counts, election };
  });
  for (const { election } of held) {
    await election.start();
    await Promise.race([election.untilLeader(), new Promise((resolve) => setTimeout(resolve, 3000))]);
  }
  await new Promise((resolve) => setTimeout(resolve, durationMs));
  const all = held.map(({ counts }) => ({ ...counts }));
  await Promise.all(held.map(({ election }) => election.stop({ timeoutMs: 5000 }).catch(() => {})));
  return all;
}

/** Resolves with the time of the win, on the clock that all processes of this machine share. */
async function lead(groupId: string, ttlMs: number): Promise<number> {
  const election = new Election(await opened, { groupId, nodeId, ttlMs });
  await election.start();
  await election.untilLeader();
  return systemClock.monotonicMs();
}

const NOTHING: ElectionMetrics = {
  isLeader() {},
  connectionStatus() {},
  transition() {},
  failure() {},
  acquireAttempt() {},
  tokenValidationFailure() {},
  heartbeat() {},
  leaderDuration() {},
  workOverdue() {},
};
