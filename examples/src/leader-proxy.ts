/**
 * An HTTP proxy that sends every request to the leader of a group, for clients that know only one address. It follows the
 * leader and never campaigns, so any number of proxies may run. The leader publishes its address as `metadata.address`.
 *
 *     node examples/dist/any-node.js a      # and b: candidates of the group, with an HTTP server each
 *     node examples/dist/leader-proxy.js 8080
 *     curl http://127.0.0.1:8080/jobs
 *
 * While the group has no leader, the proxy answers 503 with `Retry-After`. With Express use `expressToLeader`, with Fastify
 * `fastifyToLeader`; put either before anything that reads bodies.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openElector } from "@tenure/client";
import { nodeToLeader, Observer } from "@tenure/client/observer";

const [port = "0"] = process.argv.slice(2);

const elector = await openElector(process.env["TENURE_SERVER"] ?? "http://127.0.0.1:7420");
const observer = new Observer(elector, { groupId: "any-node" });
const toLeader = nodeToLeader({ observer, isLeader: () => false });

const server = createServer((request, response) => {
  if (request.url === "/healthz") response.end("ok\n");
  else void toLeader(request, response);
}).listen(Number(port), "127.0.0.1");

await Promise.all([observer.start(), once(server, "listening")]);
process.stdout.write(`proxy listens on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
server.close();
await observer.stop();
await elector.close();
server.closeAllConnections();
