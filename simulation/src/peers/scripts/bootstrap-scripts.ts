/** Scripts of first starts and of other clusters. */
import { TTL_MS } from "../sim-peer.js";
import { type Script, script, unfounded } from "./script.js";

export const BOOTSTRAP_SCRIPTS: readonly Script[] = [
  script(
    "other-clusters",
    "a founder that lost its disk leads a second cluster, and renews at the members of the first",
    "abc",
    "",
    async (stage) => {
      stage.cut("a", "bc");
      stage.node("a").wipe(["a0"]);
      stage.start("a");
      await stage.elect("a");
      stage.join("a", "bc");
      await stage.run(2 * TTL_MS);
    },
  ),
  script(
    "founds-beside-a-cluster",
    "a founder that lost its disk is shown the cluster that it is of",
    "abc",
    "",
    async (stage) => {
      await stage.elect("b");
      // No round of the leader brings the electorate: only who is asked shows it.
      stage.network.oneWay.add("b>a");
      stage.node("a").wipe(["a0"]);
      stage.start("a");
      await stage.stand("a", 3 * TTL_MS);
    },
  ),
  script(
    "forgotten-electorates",
    "all restart after the electorate has changed",
    "abc",
    "d",
    async (stage) => {
      await stage.elect("a");
      stage.believe("a", "abcd");
      await stage.until("all have stored it", () => {
        return Array.from("abcd").every((name) => stage.electorate(name) === "abcd");
      });
      for (const name of "abcd") stage.node(name).crash();
      stage.start("abcd");
      await stage.expect("b knows the electorate", 3 * TTL_MS, () => stage.electorate("b") === "abcd");
    },
  ),
  unfounded(
    "founds-without-all",
    "a founder founds without one that starts later by a list of its own",
    { founders: "ab" },
    async (stage) => {
      stage.node("b").join = ["b0"];
      stage.start("a");
      stage.ask("a");
      await stage.run(3 * TTL_MS);
      stage.cut("a", "b");
      stage.start("b");
      stage.believe("b", "b");
      await stage.elect("b");
      await stage.run(TTL_MS);
    },
  ),
  unfounded(
    "founds-over-another-founder",
    "a founder founds with one that names another founder, and that one founds alone",
    { founders: "abc" },
    async (stage) => {
      stage.node("b").join = ["b0"];
      stage.start("ac");
      await stage.run(0.8 * TTL_MS);
      stage.start("b");
      stage.believe("b", "b");
      await stage.comesTrue(TTL_MS, () => stage.electorate("c") !== "");
      stage.cut("b", "ac");
      stage.ask("a");
      await stage.elect("b");
      await stage.run(TTL_MS);
    },
  ),
  unfounded(
    "strangers-block-founding",
    "a member that waits for another founder is active where a cluster shall be founded",
    { founders: "a", later: "d" },
    async (stage) => {
      stage.node("d").join = ["b0"];
      stage.start("ad");
      stage.believe("a", "ad");
      await stage.expect("a has founded", 3 * TTL_MS, () => stage.electorate("a") === "a");
    },
  ),
];
