/**
 * An HTTP server: every node accepts requests; the leader serves them, and the other nodes forward them to the leader.
 *
 *     node examples/dist/any-node.js a     # and b in another terminal; send requests to either
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Election, openElector } from "@tenure/client";
import { nodeToLeader, Observer } from "@tenure/client/observer";

const [nodeId = `node-${process.pid}`] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);

const server = createServer().listen(0, "127.0.0.1");
await once(server, "listening");
const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;

const elector = await openElector(process.env["TENURE_SERVER"] ?? "http://127.0.0.1:7420");
const election = new Election(elector, { groupId: "any-node", nodeId, ttlMs: 5_000, metadata: { address } });
const observer = new Observer(elector, { groupId: "any-node" });
const toLeader = nodeToLeader({ observer, nodeId, isLeader: () => election.isLeader() });

server.on("request", (request, response) => {
  void toLeader(request, response).then((isLocal) => {
    if (isLocal) response.end(`served by ${nodeId} in term ${election.term()}\n`);
  });
});
election.onPromote(({ term }) => say(`leads in term ${term}`));

await Promise.all([election.start(), observer.start()]);
say(`listens on http://${address}`);
await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
await election.stop({ timeoutMs: 10_000 });
await observer.stop();
await elector.close();
server.close();
server.closeAllConnections();
