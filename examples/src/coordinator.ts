/**
 * A node of a cluster: one node coordinates, and gives polls to the healthy members. SIGTERM hands over.
 *
 *     node examples/dist/coordinator.js a     # and b in another terminal
 */
import { once } from "node:events";
import { openElector } from "@tenure/client";
import {
  ClusterHealth,
  CoordinatorCandidate,
  listen,
  PollOrchestrator,
  readEnvironment,
} from "@tenure/coordinator";

const [nodeId = `node-${process.pid}`] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);

const { electorUrl, ...settings } = readEnvironment(process.env);
const elector = await openElector(electorUrl ?? process.env["TENURE_SERVER"] ?? "http://127.0.0.1:7420");
const health = new ClusterHealth({ elector, groupId: "coordinator" });
const polls = new PollOrchestrator({
  polls: [{ name: "disks", intervalMs: 500, timeoutMs: 400 }],
  members: () => health.healthy,
  // Here a request to the member, which asks its PollGate whether this term is still the latest.
  dispatch: ({ poll, memberId, term }) =>
    Promise.resolve(say(`gives ${poll} to ${memberId} in term ${term}`)),
});
listen(({ event, metadata: { term, reason, new_leader: leader } }) => {
  if (event === "became_leader") say(`coordinates in term ${term}`);
  if (event === "lost_leadership") say(`no longer coordinates: ${reason}`);
  if (event === "leader_changed") say(`sees ${leader} coordinate`);
});

const children = [health.child(), polls.child()];
const candidate = new CoordinatorCandidate({
  ...settings,
  elector,
  nodeId,
  children,
  strategy: "rest_for_one",
});
const asked = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
await candidate.start();
await Promise.race([asked, candidate.ended()]);
await candidate.stop();
await elector.close();
say("has ended");
