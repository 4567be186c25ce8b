/** Scripts of what a leader or a leaving server must come to in time. */
import { TTL_MS } from "../sim-peer.js";
import type { Stage } from "../stage.js";
import { AN_ELECTION_MS, type Script, script } from "./script.js";

export const LEADER_SCRIPTS: readonly Script[] = [
  script(
    "released-terms-renewed",
    "the last round of a leader that has resigned arrives after the release",
    "abc",
    "",
    async (stage) => {
      await stage.elect("a");
      stage.slowDown("a", "renew", 200);
      await stage.nextRound("a");
      void stage.life("a").peer.resign(1);
      await stage.run(250);
      stage.ask("b");
      await stage.expect("b leads", 300, () => stage.life("b").peer.isLeader());
    },
  ),
  script(
    "lost-candidacies-kept",
    "a candidate has lost, and the next one needs the same voter",
    "abc",
    "",
    async (stage) => {
      stage.cut("a", "b");
      const done = stage.ask("a");
      await stage.until("c has voted", () => stage.state("c").term === 1);
      stage.cutOneWay("c", "a");
      done();
      await stage.run(300);
      stage.ask("b");
      await stage.expect("b leads", 300, () => stage.life("b").peer.isLeader());
    },
  ),
  script(
    "steps-not-withdrawn",
    "a step cannot be done, for whom it adds and another are away",
    "abc",
    "d",
    async (stage) => {
      await stage.elect("a");
      stage.believe("a", "abcd");
      await stage.until("d grants a round", () => stage.state("d").lease !== null);
      await stage.run(20);
      stage.cut("a", "cd");
      await stage.until("b has stored it", () => stage.electorate("b") === "abcd");
      stage.believe("a", "abc");
      await stage.expect("b has the old members again", 2 * TTL_MS, () => stage.electorate("b") === "abc");
    },
  ),
  script("leavers-stay", "an elector has left", "abc", "", async (stage) => {
    await stage.elect("a");
    stage.believe("a", "ab", "c");
    await stage.expect("c is removed", 2 * TTL_MS, () => stage.electorate("a") === "ab");
  }),
  script(
    "removal-waits",
    "a leader has left, and waits to be removed by the next",
    "abc",
    "",
    async (stage) => {
      await stage.elect("a");
      for (const name of "bc") stage.believe(name, "bc", "a");
      void stage.life("a").peer.resign(1);
      await stage.elect("b");
      await stage.expect("a is removed", TTL_MS / 5, () => stage.electorate("b") === "bc");
    },
  ),
  script("leader-removes-itself", "a leader hears that it has left", "abc", "", async (stage) => {
    await stage.elect("a");
    const active = Array.from("bc").map((name) => stage.node(name).member());
    stage.life("a").membership.dream = { active, left: ["a"], leaving: false };
    await stage.run(2 * TTL_MS);
  }),
  script(
    "contested-identities-replaced",
    "one bundle runs on two servers, which announce themselves in turn",
    "abc",
    "",
    async (stage) => {
      await stage.elect("a");
      const [a, b, c] = Array.from("abc").map((name) => stage.node(name).member());
      const twin = { ...b, disk: "twin", contested: true };
      stage.life("a").membership.dream = { active: [a, twin, c] as never, left: [] };
      await stage.run(2 * TTL_MS);
    },
  ),
  script(
    "higher-terms-depose",
    "a voter of candidacies that were lost has a higher term than the leader",
    "abcde",
    "",
    async (stage) => {
      await loseTwice(stage);
      stage.cut("a", "bc");
      await stage.elect("a");
      stage.join("a", "bc");
      await stage.run(2 * TTL_MS);
      await stage.expect("a leads on", 0, () => stage.life("a").peer.leading()?.term === 1);
    },
  ),
  script("silence-leaves-even-electorates", "one of three electors is silent", "abc", "", async (stage) => {
    await stage.elect("a");
    stage.node("c").crash();
    stage.believe("a", "ab");
    await stage.run(5 * TTL_MS);
  }),
  script(
    "last-elector-leaves",
    "the only elector leaves, and there is a server that could follow",
    "a",
    "b",
    async (stage) => {
      await stage.elect("a");
      stage.believe("b", "b", "a");
      stage.believe("a", "b", "a");
      void stage.life("a").peer.leave();
      stage.ask("b");
      await stage.expect("b leads alone", 6 * TTL_MS, () => {
        return stage.life("b").peer.isLeader() && stage.electorate("b") === "b";
      });
    },
  ),
];

/** b campaigns twice, and each time only c receives it; so both have voted for term 2, and the others for none. */
export async function loseTwice(stage: Stage): Promise<void> {
  for (const term of [1, 2]) {
    const done = stage.ask("b");
    await stage.until("b has voted", () => stage.state("b").term === term);
    stage.cut("b", "ade");
    await stage.run(3 * AN_ELECTION_MS + 50);
    done();
    stage.join("b", "ade");
    await stage.run(AN_ELECTION_MS);
  }
}
