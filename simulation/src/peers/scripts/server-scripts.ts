/** Scripts of membership, decisions and registry: servers that do by themselves all that a server does. */
import { TTL_MS } from "../sim-peer.js";
import type { Stage } from "../stage.js";
import { type Script, unfounded } from "./script.js";

const LEAVE_MS = 4 * TTL_MS;

function servers(
  mutant: string,
  story: string,
  play: (stage: Stage, leader: string) => Promise<void>,
): Script {
  return unfounded(mutant, story, { founders: "abc", later: "d", servers: true }, async (stage) => {
    await stage.found("abc");
    const leader = await stage.leader();
    // Until all are members of each other's, and registered.
    await stage.run(4 * TTL_MS);
    await play(stage, leader);
  });
}

export const SERVER_SCRIPTS: readonly Script[] = [
  servers("goodbyes-once", "the leader misses the goodbye of an elector", async (stage, leader) => {
    const leaver = "abc".replace(leader, "")[0] ?? "";
    stage.network.oneWay.add(`${leaver}>${leader}`);
    void stage.node(leaver).leave();
    await stage.run(0.5 * TTL_MS);
    stage.network.oneWay.clear();
    await stage.expect(`${leaver} has left`, LEAVE_MS, () => stage.node(leaver).isGone);
  }),
  servers("members-kept-for-ever", "a server announces itself once, and never comes back", async (stage) => {
    const lost = { identity: "lost", endpoint: "lost0", disk: "lost-disk" };
    // Stores take virtual time, so nothing of a server is awaited here.
    void stage.services("a").membership.announce(lost);
    await stage.run(TTL_MS);
    await stage.expect("it is forgotten", 9 * TTL_MS, () => {
      return !stage.services("a").knownMembers().includes("lost");
    });
  }),
  servers("twins-unnoticed", "one bundle runs on two servers", async (stage, leader) => {
    const twin = { ...stage.node("abc".replace(leader, "")[0] ?? "").member(), disk: "twin" };
    const announceFor = async (ttls: number): Promise<void> => {
      for (let times = 0; times < 3 * ttls; times++) {
        void stage.services(leader).membership.announce(twin);
        await stage.run(TTL_MS / 3);
      }
    };
    await announceFor(4);
    const { epoch } = stage.state(leader).config ?? {};
    await announceFor(6);
    await stage.expect("the electorate does not change any more", 0, () => {
      return stage.state(leader).config?.epoch.n === epoch?.n;
    });
  }),
  servers(
    "negative-ages",
    "all crash after a decision was applied, and the running time goes back by all that was not saved",
    async (stage, leader) => {
      await stage.run(6 * TTL_MS);
      const { term } = stage.state(leader);
      void stage.services(leader).decider.settle("t", "commit", term);
      await stage.until("it is done everywhere", () => {
        return Array.from("abc").every(
          (name) => (stage.services(name).log.get("t")?.doneForMs ?? null) !== null,
        );
      });
      for (const name of "abc") stage.node(name).crash();
      stage.start("abcd");
      await stage.expect("d is added", 7 * TTL_MS, () => {
        return Array.from("abc").some(
          (name) => stage.node(name).life !== null && stage.electorate(name).includes("d"),
        );
      });
    },
  ),
  servers(
    "asks-what-one-remembers",
    "an elector that is farther away than the others alone remembers a decision",
    async (stage, leader) => {
      const far = "abc".replace(leader, "")[0] ?? "";
      const { term } = stage.state(leader);
      for (const verb of ["prepare", "remember"]) stage.slowDownTo(far, verb, 60);
      void stage.services(far).log.remember({ txnId: "t", decision: "commit", term });
      await stage.run(TTL_MS / 10);
      stage.start("d");
      await stage.expect("d is added", 6 * TTL_MS, () => stage.electorate(leader).includes("d"));
    },
  ),
  servers(
    "contradicted-changes-reported",
    "another server says the contrary of a change of the registry each time",
    async (stage, leader) => {
      const { registry } = stage.services("abc".replace(leader, "")[0] ?? "");
      const merge = registry.merge.bind(registry);
      registry.merge = async (entries) => {
        const isNew = await merge(entries);
        for (const { backendHash, endpoint, isRegistered, version } of entries) {
          const contrary = { n: version.n + 1, by: "another" };
          if (backendHash === "h")
            await merge([{ backendHash, endpoint, isRegistered: !isRegistered, version: contrary }]);
        }
        return isNew;
      };
      const change = { kind: "register", backendHash: "h", endpoint: "h0" } as const;
      let outcome = "";
      void stage
        .services(leader)
        .replicator.apply(change)
        .then(({ kind }) => (outcome = kind));
      await stage.expect("the change is reported as failed", TTL_MS, () => outcome === "failed");
    },
  ),
];
