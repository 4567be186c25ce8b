/** The commands of core's scenarios. */
import type { ElectorAdmin } from "@tenure/core";
import { type ElectorStage, GROUP } from "./elector-stage.js";
import type { Command, Vocabulary } from "./scenario.js";
import type { Arguments } from "./usage.js";
import { wordCampaign, wordLeadership, wordRenewal, wordResignation } from "./wording.js";

const DEFAULT_TTL_MS = 1000;
const ADMIN = "admin";
const groupId = GROUP;

type ElectorCommand = Command<ElectorStage>;

/** Of servers and nodes alike. */
const TIME: readonly ElectorCommand[] = [
  { usage: "advance MS", run: (stage, given) => stage.advance(given.number("MS")) },
  { usage: "PROCESS pauses", run: (stage, given) => stage.clockOf(given.name("PROCESS")).pause() },
  { usage: "PROCESS is suspended", run: (stage, given) => stage.clockOf(given.name("PROCESS")).suspend() },
  {
    usage: "PROCESS goes on",
    run: (stage, given) => {
      stage.clockOf(given.name("PROCESS")).resume();
      return stage.advance(0);
    },
  },
];

const SERVERS: readonly ElectorCommand[] = [
  {
    usage: "SERVER starts [rate=N]",
    run: (stage, given) => {
      stage.start(given.name("SERVER"), given.numberOption("rate"));
      return stage.advance(0);
    },
  },
  { usage: "SERVER crashes", run: (stage, given) => stage.crash(given.name("SERVER")) },
  {
    usage: "SERVER closes",
    run: (stage, given) => {
      void stage.server(given.name("SERVER")).elector.close();
      return stage.advance(0);
    },
  },
  {
    usage: "the wall clock of SERVER is set forward by MS",
    run: (stage, given) => stage.server(given.name("SERVER")).clock.stepWall(given.number("MS")),
  },
  {
    usage: "the wall clock of SERVER is set back by MS",
    run: (stage, given) => stage.server(given.name("SERVER")).clock.stepWall(-given.number("MS")),
  },
  {
    usage: "SERVER loses its next write",
    run: (stage, given) => stage.meet(given.name("SERVER"), { plan: { lostRequestRate: 1 } }),
  },
  {
    usage: "SERVER loses the answer to its next write",
    run: (stage, given) => stage.meet(given.name("SERVER"), { plan: { lostAnswerRate: 1 } }),
  },
  {
    usage: "SERVER gets no answer to its next write which lands after MS",
    run: (stage, given) =>
      stage.meet(given.name("SERVER"), { plan: { lostRequestRate: 1 }, lateMs: given.number("MS") }),
  },
  {
    usage: "SERVER needs MS for its next write",
    run: (stage, given) => {
      const ms = given.number("MS");
      stage.meet(given.name("SERVER"), { plan: { requestMs: [ms, ms] } });
    },
  },
  {
    usage: "SERVER gets the answer to its next write after MS",
    run: (stage, given) => {
      const ms = given.number("MS");
      stage.meet(given.name("SERVER"), { plan: { answerMs: [ms, ms] } });
    },
  },
  {
    usage: "SERVER loses its writes of the history for MS",
    run: (stage, given) => stage.server(given.name("SERVER")).store.loseHistory(given.number("MS")),
  },
  {
    usage: "SERVER cannot read the store",
    run: (stage, given) => void (stage.server(given.name("SERVER")).plan.syncFailRate = 1),
  },
  {
    usage: "SERVER can read the store",
    run: (stage, given) => void (stage.server(given.name("SERVER")).plan.syncFailRate = 0),
  },
  {
    usage: "SERVER hears of no write for MS",
    run: (stage, given) => stage.stallFeed(given.name("SERVER"), given.number("MS")),
  },
];

const NODES: readonly ElectorCommand[] = [
  {
    usage: "NODE campaigns [at=SERVER] [ttl=MS] [wait=MS] [priority=N] [cold]",
    run: (stage, given) => {
      const node = stage.node(given.name("NODE"));
      const ttlMs = given.numberOption("ttl") ?? DEFAULT_TTL_MS;
      const { name: nodeId, instanceId } = node;
      const request = {
        groupId,
        nodeId,
        instanceId,
        ttlMs,
        waitMs: given.numberOption("wait"),
        priority: given.numberOption("priority"),
        ready: !given.has("cold"),
      };
      const sent = stage.sendMoment(node);
      return stage.ask(
        nodeId,
        serverOf(given),
        (elector, signal) => elector.campaign(request, { signal }),
        (result) => {
          const words = wordCampaign(result);
          if (result.kind === "lost") return words;
          const { leader, waitedMs } = result;
          // The answer is for the process that asked; a later start of the node does not get it.
          if (node.instanceId !== instanceId) return `${words}; ${nodeId} has restarted`;
          return `${words}; ${stage.lead(node, leader.term, { sent, ttlMs, waitedMs })}`;
        },
      );
    },
  },
  {
    usage: "NODE renews term N [at=SERVER] [ttl=MS]",
    run: (stage, given) => {
      const node = stage.node(given.name("NODE"));
      const { name: nodeId, instanceId } = node;
      const ttlMs = given.numberOption("ttl") ?? DEFAULT_TTL_MS;
      const term = given.number("N");
      const sent = stage.sendMoment(node);
      return stage.ask(
        nodeId,
        serverOf(given),
        (elector, signal) => elector.renew({ groupId, nodeId, instanceId, term, ttlMs }, { signal }),
        (result) => {
          if (result.kind === "renewed")
            return `${wordRenewal(result)}; ${stage.lead(node, term, { sent, ttlMs })}`;
          if (node.led?.term === term) node.led.end();
          return wordRenewal(result);
        },
      );
    },
  },
  {
    usage: "NODE resigns term N [at=SERVER]",
    run: (stage, given) => {
      const node = stage.node(given.name("NODE"));
      const { name: nodeId, instanceId } = node;
      const term = given.number("N");
      if (node.led?.term === term) node.led.end();
      return stage.ask(
        nodeId,
        serverOf(given),
        (elector, signal) => elector.resign({ groupId, nodeId, instanceId, term }, { signal }),
        wordResignation,
      );
    },
  },
  {
    usage: "NODE asks who leads [at=SERVER]",
    run: (stage, given) =>
      stage.ask(
        given.name("NODE"),
        serverOf(given),
        (elector, signal) => elector.leader(groupId, { signal }),
        wordLeadership,
      ),
  },
  {
    usage: "NODE is elected and resigns N times [at=SERVER]",
    run: async (stage, given) => {
      const { name: nodeId, instanceId } = stage.node(given.name("NODE"));
      await stage.quietly(async () => {
        const { elector } = stage.server(serverOf(given));
        for (let times = given.number("N"); times > 0; times--) {
          const won = await elector.campaign({ groupId, nodeId, instanceId, ttlMs: DEFAULT_TTL_MS });
          await elector.resign({ groupId, nodeId, instanceId, term: won.leader?.term ?? 0 });
        }
      });
    },
  },
  {
    usage: "NODE watches [cursor=N] [at=SERVER]",
    run: (stage, given) => stage.watch(given.name("NODE"), serverOf(given), given.numberOption("cursor")),
  },
  {
    usage: "NODE hangs up",
    run: (stage, given) => {
      stage.node(given.name("NODE")).connection.abort(new Error("the caller hung up"));
      return stage.advance(0);
    },
  },
  { usage: "NODE looks at its deadline", run: (stage, given) => stage.showDeadline(given.name("NODE")) },
  { usage: "NODE restarts", run: (stage, given) => stage.node(given.name("NODE")).restart() },
  {
    usage: "the clock of NODE runs at N",
    run: (stage, given) => stage.node(given.name("NODE")).setRate(given.number("N")),
  },
];

const OPERATOR: readonly ElectorCommand[] = [
  operatorCommand(
    "admin creates the group [delay=MS] [strategy=NAME] [preempt] [allowed=NODES] [at=SERVER]",
    (elector, given) =>
      elector.createGroup({
        groupId,
        policy: {
          takeoverDelayMs: given.numberOption("delay"),
          strategy: given.option("strategy") as "first" | "priority" | undefined,
          preempt: given.has("preempt") ? true : undefined,
        },
        allowedNodes: given.has("allowed") ? given.names("allowed") : undefined,
      }),
  ),
  operatorCommand("admin allows only NODES [at=SERVER]", (elector, given) =>
    elector.updateGroup({ groupId, allowedNodes: given.names("NODES") }),
  ),
  operatorCommand("admin steps the leader down [ban=MS] [force] [at=SERVER]", (elector, given) =>
    elector.stepDown({ groupId, by: ADMIN, banMs: given.numberOption("ban"), force: given.has("force") }),
  ),
  operatorCommand("admin transfers to NODE [limit=MS] [at=SERVER]", (elector, given) =>
    elector.transfer({
      groupId,
      by: ADMIN,
      toNodeId: given.name("NODE"),
      timeoutMs: given.numberOption("limit"),
    }),
  ),
  operatorCommand("admin pauses the group [for=MS] [at=SERVER]", (elector, given) =>
    elector.pause({ groupId, forMs: given.numberOption("for") }),
  ),
  operatorCommand("admin resumes the group [at=SERVER]", (elector) => elector.resume({ groupId })),
  operatorCommand("admin deletes the group [force] [at=SERVER]", (elector, given) =>
    elector.deleteGroup({ groupId, by: ADMIN, force: given.has("force") }),
  ),
];

function operatorCommand(
  usage: string,
  act: (elector: ElectorAdmin, given: Arguments) => Promise<unknown>,
): ElectorCommand {
  return {
    usage,
    run: (stage, given) => {
      if (usage.includes("[force]") && given.has("force")) stage.forceOut();
      return stage.ask(
        ADMIN,
        serverOf(given),
        (elector) => act(elector, given),
        () => "done",
      );
    },
  };
}

function serverOf(given: Arguments): string {
  return given.option("at") ?? "s1";
}

export const ELECTOR_VOCABULARY: Vocabulary<ElectorStage> = {
  headers: {},
  commands: [...TIME, ...OPERATOR, ...SERVERS, ...NODES],
};
