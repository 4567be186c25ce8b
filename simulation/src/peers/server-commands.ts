/** The commands of scenarios about membership, decisions and the registry of resource managers: they need servers. */
import type { Command } from "../scenarios/scenario.js";
import type { Arguments } from "../scenarios/usage.js";
import { TTL_MS } from "./sim-peer.js";
import type { Stage } from "./stage.js";

type ServerCommand = Command<Stage>;

// Stores take virtual time, so a command must not await what a server does: it would wait for ever.

const MEMBERSHIP: readonly ServerCommand[] = [
  {
    usage: "NODE has left within MS",
    run: (stage, given) => {
      const name = node(stage, given);
      return stage.expect(`${name} has left`, given.number("MS"), () => stage.node(name).isGone);
    },
  },
  {
    usage: "a server IDENTITY announces itself to NODE once",
    run: (stage, given) => {
      const identity = given.name("IDENTITY");
      const member = { identity, endpoint: `${identity}0`, disk: `${identity}-disk` };
      void stage.services(node(stage, given)).membership.announce(member);
    },
  },
  {
    usage: "NODE has forgotten IDENTITY within MS",
    run: (stage, given) => {
      const name = node(stage, given);
      const identity = given.name("IDENTITY");
      return stage.expect(
        `${name} has forgotten ${identity}`,
        given.number("MS"),
        () => !stage.services(name).knownMembers().includes(identity),
      );
    },
  },
  {
    usage: "a second server announces itself as IDENTITY to NODE for MS",
    run: (stage, given) => announceTwin(stage, given),
  },
  {
    usage: "NODE keeps its electorate while a second server announces itself as IDENTITY for MS",
    run: async (stage, given) => {
      const name = node(stage, given);
      const epoch = (): number | undefined => stage.state(name).config?.epoch.n;
      const before = epoch();
      await announceTwin(stage, given);
      await stage.expect(`${name} has kept its electorate`, 0, () => epoch() === before);
    },
  },
  {
    usage: "IDENTITY is an elector within MS",
    run: (stage, given) => {
      const identity = stage.named(given.name("IDENTITY"));
      const isElector = (): boolean => stage.names.some((name) => stage.electorate(name).includes(identity));
      return stage.expect(`${identity} is an elector`, given.number("MS"), isElector);
    },
  },
];

async function announceTwin(stage: Stage, given: Arguments): Promise<void> {
  const twin = { ...stage.node(stage.named(given.name("IDENTITY"))).member(), disk: "twin" };
  for (let leftMs = given.number("MS"); leftMs > 0; leftMs -= TTL_MS / 3) {
    void stage.services(node(stage, given)).membership.announce(twin);
    await stage.run(TTL_MS / 3);
  }
}

const DECISIONS: readonly ServerCommand[] = [
  {
    usage: "NODE decides to commit TRANSACTION",
    run: (stage, given) => {
      const name = node(stage, given);
      void stage.services(name).decider.settle(given.name("TRANSACTION"), "commit", stage.state(name).term);
    },
  },
  {
    usage: "NODE alone remembers that TRANSACTION commits in the term of LEADER",
    run: (stage, given) => {
      const { term } = stage.state(stage.named(given.name("LEADER")));
      const decision = { txnId: given.name("TRANSACTION"), decision: "commit", term } as const;
      void stage.services(node(stage, given)).log.remember(decision);
    },
  },
  {
    usage: "wait until NODES have applied TRANSACTION",
    run: (stage, given) => {
      const names = given.names("NODES").map((name) => stage.named(name));
      const isApplied = (name: string): boolean =>
        (stage.services(name).log.get(given.name("TRANSACTION"))?.doneForMs ?? null) !== null;
      return stage.until("all have applied it", () => names.every(isApplied));
    },
  },
];

const REGISTRY: readonly ServerCommand[] = [
  {
    usage: "NODE contradicts each change of BACKEND",
    run: (stage, given) => {
      const { registry } = stage.services(node(stage, given));
      const merge = registry.merge.bind(registry);
      registry.merge = async (entries) => {
        const isNew = await merge(entries);
        for (const { backendHash, endpoint, isRegistered, version } of entries) {
          const contrary = { n: version.n + 1, by: "another" };
          if (backendHash === given.name("BACKEND"))
            await merge([{ backendHash, endpoint, isRegistered: !isRegistered, version: contrary }]);
        }
        return isNew;
      };
    },
  },
  {
    usage: "the registration of BACKEND at NODE fails within MS",
    run: (stage, given) => {
      const backendHash = given.name("BACKEND");
      const change = { kind: "register", backendHash, endpoint: `${backendHash}0` } as const;
      let outcome = "";
      void stage
        .services(node(stage, given))
        .replicator.apply(change)
        .then(({ kind }) => (outcome = kind));
      return stage.expect("the registration has failed", given.number("MS"), () => outcome === "failed");
    },
  },
];

function node(stage: Stage, given: Arguments): string {
  return stage.named(given.name("NODE"));
}

export const SERVER_COMMANDS: readonly ServerCommand[] = [...MEMBERSHIP, ...DECISIONS, ...REGISTRY];
