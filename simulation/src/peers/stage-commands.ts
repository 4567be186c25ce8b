/** The commands of the scenarios of peers. */
import type { Command, Vocabulary } from "../scenarios/scenario.js";
import type { Arguments } from "../scenarios/usage.js";
import { wordNames } from "./peer-wording.js";
import { SERVER_COMMANDS } from "./server-commands.js";
import { TTL_MS } from "./sim-peer.js";
import type { Names, Stage } from "./stage.js";

type PeerCommand = Command<Stage>;

const PROCESSES: readonly PeerCommand[] = [
  { usage: "advance MS", run: (stage, given) => stage.run(given.number("MS")) },
  { usage: "NODES have founded a cluster", run: (stage, given) => stage.found(nodes(stage, given)) },
  { usage: "NODE has founded a cluster", run: (stage, given) => stage.found([node(stage, given)]) },
  {
    usage: "NODES have a leader and are registered",
    run: (stage, given) => stage.settle(nodes(stage, given)),
  },
  { usage: "NODES start", run: (stage, given) => stage.start(nodes(stage, given)) },
  { usage: "NODE starts", run: (stage, given) => stage.start([node(stage, given)]) },
  {
    usage: "NODES crash",
    run: (stage, given) => nodes(stage, given).forEach((name) => stage.node(name).crash()),
  },
  { usage: "NODE crashes", run: (stage, given) => stage.node(node(stage, given)).crash() },
  { usage: "NODE pauses", run: (stage, given) => stage.life(node(stage, given)).clock.pause() },
  {
    usage: "NODE goes on",
    run: (stage, given) => {
      stage.life(node(stage, given)).clock.resume();
      return stage.run(0);
    },
  },
  {
    usage: "NODE crashes and loses its disk [join=NODES]",
    run: (stage, given) => {
      const lost = stage.node(node(stage, given));
      lost.wipe(given.has("join") ? endpoints(stage, given.names("join")) : lost.join);
    },
  },
  {
    usage: "NODE has the join list NODES",
    run: (stage, given) =>
      void (stage.node(node(stage, given)).join = endpoints(stage, given.names("NODES"))),
  },
];

const NETWORK: readonly PeerCommand[] = [
  {
    usage: "NODE is cut off from NODES",
    run: (stage, given) => stage.cut(node(stage, given), nodes(stage, given)),
  },
  {
    usage: "NODE is connected to NODES",
    run: (stage, given) => stage.join(node(stage, given), nodes(stage, given)),
  },
  {
    usage: "nothing gets from NODE to NODES",
    run: (stage, given) => stage.cutOneWay([node(stage, given)], nodes(stage, given)),
  },
  {
    usage: "nothing gets to NODE from NODES",
    run: (stage, given) => stage.cutOneWay(nodes(stage, given), [node(stage, given)]),
  },
  {
    usage: "NODE cannot connect to NODES",
    run: (stage, given) => {
      const from = node(stage, given);
      for (const to of nodes(stage, given)) stage.network.oneWay.add(`${from}>${to}`);
    },
  },
  { usage: "all can connect", run: (stage) => stage.network.oneWay.clear() },
  {
    usage: "each VERB from NODE takes MS",
    run: (stage, given) => stage.slowDown(node(stage, given), given.name("VERB"), given.number("MS")),
  },
  {
    usage: "each VERB to NODE takes MS",
    run: (stage, given) => stage.slowDownTo(node(stage, given), given.name("VERB"), given.number("MS")),
  },
  {
    usage: "each answer from NODE takes MS",
    run: (stage, given) => stage.slowDownAnswers(node(stage, given), given.number("MS")),
  },
];

const MEMBERSHIP: readonly PeerCommand[] = [
  {
    usage: "NODE sees NODES active [left=NODES] [staying]",
    run: (stage, given) => {
      const left = given.has("left") ? given.names("left").map((name) => stage.named(name)) : [];
      const believed = { active: nodes(stage, given), left };
      stage.believe(node(stage, given), given.has("staying") ? { ...believed, leaving: false } : believed);
    },
  },
  {
    usage: "NODE sees two servers that announce themselves as IDENTITY",
    run: (stage, given) => stage.believeInTwins(node(stage, given), given.name("IDENTITY")),
  },
];

const ELECTIONS: readonly PeerCommand[] = [
  { usage: "NODE campaigns", run: (stage, given) => stage.campaign(node(stage, given)) },
  { usage: "NODE stops campaigning", run: (stage, given) => stage.stopCampaign(node(stage, given)) },
  {
    usage: "NODE campaigns for MS",
    run: async (stage, given) => {
      const name = node(stage, given);
      stage.campaign(name);
      await stage.run(given.number("MS"));
      stage.stopCampaign(name);
    },
  },
  { usage: "NODE campaigns until it leads", run: (stage, given) => stage.elect(node(stage, given)) },
  {
    usage: "NODE resigns term N",
    run: (stage, given) => void stage.life(node(stage, given)).peer.resign(given.number("N")),
  },
  {
    usage: "NODE leaves",
    run: (stage, given) => {
      const { name, life } = stage.node(node(stage, given));
      if (life?.services === null) void life.peer.leave();
      else void stage.node(name).leave();
    },
  },
];

/** Waits, without a limit that a rule gives. */
const WAITS: readonly PeerCommand[] = [
  {
    usage: "wait until NODE has voted in term N",
    run: (stage, given) => {
      const name = node(stage, given);
      return stage.until(`${name} has voted`, () => stage.state(name).term === given.number("N"));
    },
  },
  {
    usage: "wait until NODES have the electorate ELECTORATE",
    run: (stage, given) => waitForElectorate(stage, nodes(stage, given), given),
  },
  {
    usage: "wait until NODE has the electorate ELECTORATE",
    run: (stage, given) => waitForElectorate(stage, [node(stage, given)], given),
  },
  {
    usage: "wait until NODE holds a lease",
    run: (stage, given) => {
      const name = node(stage, given);
      return stage.until(`${name} holds a lease`, () => stage.state(name).lease !== null);
    },
  },
  {
    usage: "wait until NODE holds no lease",
    run: (stage, given) => {
      const name = node(stage, given);
      return stage.until(`${name} holds no lease`, () => stage.state(name).lease === null);
    },
  },
  { usage: "wait until NODE sends a round", run: (stage, given) => stage.nextRound(node(stage, given)) },
  {
    usage: "wait until NODE has granted that round",
    run: (stage, given) => {
      const name = node(stage, given);
      const isNew = (): boolean => (stage.state(name).lease?.leftMs ?? 0) > 0.99 * TTL_MS;
      return stage.until(`${name} has granted a round`, isNew);
    },
  },
];

function waitForElectorate(stage: Stage, names: Names, given: Arguments): Promise<void> {
  const wanted = wordNames(given.names("ELECTORATE"));
  return stage.until(`the electorate ${wanted}`, () =>
    names.every((name) => stage.electorate(name) === wanted),
  );
}

/** What must be so, or become so in time: a violation if it is not. */
const EXPECTATIONS: readonly PeerCommand[] = [
  {
    usage: "NODE leads within MS",
    run: (stage, given) => {
      const name = node(stage, given);
      return stage.expect(`${name} leads`, given.number("MS"), () => stage.isLeader(name));
    },
  },
  {
    usage: "NODE still leads term N",
    run: (stage, given) => {
      const name = node(stage, given);
      const term = given.number("N");
      return stage.expect(
        `${name} still leads term ${term}`,
        0,
        () => stage.life(name).peer.leading()?.term === term,
      );
    },
  },
  {
    usage: "a node leads within MS",
    run: (stage, given) => stage.expect("a node leads", given.number("MS"), () => stage.leader() !== null),
  },
  {
    usage: "NODE has the electorate ELECTORATE within MS",
    run: (stage, given) => {
      const name = node(stage, given);
      const wanted = wordNames(given.names("ELECTORATE"));
      return stage.expect(
        `${name} has the electorate ${wanted}`,
        given.number("MS"),
        () => stage.electorate(name) === wanted,
      );
    },
  },
];

function node(stage: Stage, given: Arguments): string {
  return stage.named(given.name("NODE"));
}

function nodes(stage: Stage, given: Arguments): Names {
  return given.names("NODES").map((name) => stage.named(name));
}

function endpoints(stage: Stage, names: Names): Names {
  return names.map((name) => stage.node(stage.named(name)).endpoint);
}

export const PEER_VOCABULARY: Vocabulary<Stage> = {
  headers: {
    founders: "the nodes that are in every join list, separated by commas",
    later: "other nodes",
    nodes: '"servers", which act by themselves; without it, puppets, which act only if the scenario says so',
  },
  commands: [
    ...PROCESSES,
    ...NETWORK,
    ...MEMBERSHIP,
    ...ELECTIONS,
    ...WAITS,
    ...EXPECTATIONS,
    ...SERVER_COMMANDS,
  ],
};
