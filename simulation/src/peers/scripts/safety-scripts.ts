/**
 * Traces that chance does not find, or not soon. Each breaks the one rule that its mutant has switched off, and nothing
 * else; with all rules in force it must come to nothing. Names are those of the nodes: `a` is the founder.
 */
import { TTL_MS } from "../sim-peer.js";
import type { Stage } from "../stage.js";
import { loseTwice } from "./leader-scripts.js";
import { A_LEASE_MS, AN_ELECTION_MS, type Script, script } from "./script.js";

export const SAFETY_SCRIPTS: readonly Script[] = [
  script(
    "any-lease-stops",
    "one voter restarts again and again, and each time shows the lease that it granted before",
    "abcde",
    "",
    async (stage) => {
      await stage.elect("a");
      await stage.run(A_LEASE_MS);
      stage.node("a").crash();
      const done = stage.ask("c");
      for (let life = 0; life < 8; life++) {
        stage.node("b").crash();
        stage.start("b");
        await stage.run(0.9 * TTL_MS);
      }
      stage.expectLeader();
      done();
    },
  ),
  script(
    "founds-at-once",
    "a founder that lost its disk founds a second cluster before the members of the first have announced themselves",
    "abc",
    "",
    async (stage) => {
      await stage.elect("b");
      stage.node("a").wipe(["a0"]);
      stage.node("a").start();
      await stage.run(0.9 * TTL_MS);
      // By now b and c have announced themselves to it.
      stage.believe("a", "abc");
      await stage.stand("a", A_LEASE_MS);
    },
  ),
  script(
    "next-step-unearned",
    "a lease earned two electorates ago is invisible to the voters of the third",
    "abcde",
    "",
    async (stage) => {
      await stage.elect("a");
      // c hears a no more, and its lease of a runs out.
      stage.cut("a", "c");
      await stage.run(A_LEASE_MS);
      await stage.nextRound("a");
      await stage.run(20);
      stage.believe("a", "abc", "de");
      // The step without d reaches b alone.
      stage.cut("a", "de");
      await stage.until("b has stored it", () => stage.electorate("b") === "abce");
      await stage.run(20);
      // Then d and e alone: by the old five the lease is renewed, and with e the step is done.
      stage.cut("a", "b");
      stage.join("a", "de");
      await stage.until("e has stored it", () => stage.electorate("e") === "abce");
      // The next one, without e, would be sent now; c hears of it from e.
      await stage.nextRound("a");
      await stage.run(20);
      await stage.stand("c", AN_ELECTION_MS);
      stage.cut("c", "de");
      await stage.until("the lease that b holds is over", () => stage.state("b").lease === null);
      await stage.stand("c", AN_ELECTION_MS);
    },
  ),
  script(
    "no-first-step",
    "two leaders in a row change the electorate in different directions",
    "abc",
    "de",
    async (stage) => {
      await addUndone(stage);
      // Elected on four, by a, b and d; b hears no more than the question for its vote.
      stage.slowDown("b", "state", 100);
      await stage.run(20);
      stage.join("a", "b");
      stage.believe("a", "abcde");
      const done = stage.ask("a");
      await stage.until("b has voted", () => stage.state("b").term === 2);
      stage.cutOneWay("a", "b");
      await stage.run(AN_ELECTION_MS);
      done();
      stage.cut("b", "a");
      await stage.run(2 * A_LEASE_MS);
      // On three, by b and c; and on five, by a, d and e.
      await stage.elect("b");
      await stage.stand("a", AN_ELECTION_MS);
    },
  ),
  script(
    "votes-store-configurations",
    "a candidacy that failed has put its mark on the electorate",
    "abc",
    "d",
    async (stage) => {
      await addUndone(stage);
      // Asked by a, b answers; then it is gone, and a has the votes of a and d only.
      stage.join("a", "b");
      const done = stage.ask("a");
      await stage.until("a has voted", () => stage.state("a").term === 2);
      stage.cut("a", "b");
      await stage.run(AN_ELECTION_MS);
      done();
      await stage.elect("b");
    },
  ),
  script(
    "release-of-any-term",
    "the release of a lost candidacy comes after the next one was won",
    "abc",
    "",
    async (stage) => {
      stage.cut("a", "b");
      stage.slowDown("a", "release", 500);
      const done = stage.ask("a");
      await stage.until("c has voted", () => stage.state("c").term === 1);
      stage.cutOneWay("c", "a");
      await stage.run(AN_ELECTION_MS);
      done();
      await stage.run(250);
      stage.join("a", "c");
      await stage.elect("a");
      await stage.run(500);
      stage.cut("a", "c");
      await stage.stand("b", AN_ELECTION_MS);
    },
  ),
  script(
    "no-wait-after-restart",
    "the voters of a leader restart, and have not heard of its lease",
    "abc",
    "",
    async (stage) => {
      await stage.elect("a");
      stage.cut("a", "bc");
      for (const name of "bc") stage.node(name).crash();
      stage.start("bc");
      await stage.stand("b", AN_ELECTION_MS);
    },
  ),
  script(
    "former-terms-resumed",
    "a leader restarts at once, and its voters would grant it the same term again",
    "abc",
    "",
    async (stage) => {
      await stage.elect("a");
      stage.node("a").crash();
      stage.start("a");
      await stage.elect("a");
    },
  ),
  script(
    "deadline-from-answer",
    "the answers to a round take long, and its leader counts from when they came",
    "abc",
    "",
    async (stage) => {
      await stage.elect("a");
      stage.cut("a", "c");
      await stage.run(A_LEASE_MS);
      await stage.nextRound("a");
      await stage.until("b has answered", () => (stage.state("b").lease?.leftMs ?? 0) > 0.99 * TTL_MS);
      // The process is paused before it hears of it.
      const { clock } = stage.life("a");
      clock.pause();
      await stage.run(20);
      stage.cut("a", "b");
      await stage.run(250);
      clock.resume();
      await stage.until("the lease that b holds is over", () => stage.state("b").lease === null);
      await stage.stand("b", AN_ELECTION_MS);
    },
  ),
  script(
    "lower-terms",
    "a candidate that has not seen the term of a voter asks for its vote",
    "abcde",
    "",
    async (stage) => {
      await loseTwice(stage);
      stage.cut("a", "bc");
      const done = stage.ask("a");
      await stage.until("a has voted", () => stage.state("a").term === 1);
      stage.join("a", "bc");
      await stage.run(AN_ELECTION_MS);
      done();
    },
  ),
  script(
    "answers-of-any-round",
    "the answer to a round comes after the next one was sent, which is lost",
    "abc",
    "",
    async (stage) => {
      await stage.elect("a");
      stage.cut("a", "c");
      await stage.run(A_LEASE_MS);
      await stage.nextRound("a");
      stage.network.answerMs = (from) => (from === "b" ? 0.36 * TTL_MS : undefined);
      await stage.until("b has answered", () => (stage.state("b").lease?.leftMs ?? 0) > 0.99 * TTL_MS);
      stage.cutOneWay("a", "b");
      await stage.run(0.4 * TTL_MS);
      stage.network.answerMs = null;
      stage.cut("a", "b");
      await stage.until("the lease that b holds is over", () => stage.state("b").lease === null);
      await stage.stand("b", AN_ELECTION_MS);
    },
  ),
  script(
    "older-electorates-elect",
    "a server that has missed two changes of the electorate stands by the one that it knows",
    "abc",
    "de",
    async (stage) => {
      await stage.elect("a");
      stage.cut("c", "abde");
      stage.believe("a", "abcde");
      await stage.until("e has stored it", () => stage.electorate("e") === "abcde");
      await stage.until("it is done", () => stage.electorate("a") === "abcde");
      await stage.run(A_LEASE_MS / 2);
      stage.cut("b", "ade");
      await stage.run(A_LEASE_MS);
      stage.join("b", "c");
      await stage.stand("c", AN_ELECTION_MS);
    },
  ),
  script(
    "many-members-per-step",
    "an electorate jumps to one that shares no majority with it",
    "abc",
    "de",
    async (stage) => {
      await stage.elect("a");
      await stage.nextRound("a");
      stage.believe("a", "abcde");
      // They grant a round, so they can be added; nothing is, for it is not yet time.
      await stage.until("d and e grant a round", () => stage.state("d").lease !== null);
      stage.believe("a", "ade", "bc");
      stage.cut("a", "bc");
      stage.cut("b", "de");
      stage.cut("c", "de");
      await stage.run(2 * A_LEASE_MS);
      await stage.elect("b");
      await stage.stand("a", AN_ELECTION_MS);
    },
  ),
];

/** a led, and sent a step that adds d; d alone has stored it. All leases are over. */
async function addUndone(stage: Stage): Promise<void> {
  stage.cut("b", "de");
  stage.cut("c", "de");
  await stage.elect("a");
  stage.believe("a", "abcd");
  await stage.until("d grants a round", () => stage.state("d").lease !== null);
  await stage.run(20);
  stage.cut("a", "bc");
  await stage.until("d has stored it", () => stage.electorate("d") === "abcd");
  void stage.life("a").peer.resign(1);
  await stage.run(2 * A_LEASE_MS);
}
