/** Bare routes as a process of its own: `bare-child.js fastify|node`. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { bareFastify, bareNode } from "./bare-routes.js";
import { answerOwner } from "./child.js";
import { type ServiceAnswer, type ServiceQuestion, stateOf } from "./service-load.js";

const opened = process.argv[2] === "node" ? openNode() : bareFastify().listen({ host: "127.0.0.1", port: 0 });

answerOwner<ServiceQuestion, ServiceAnswer>(async (question) => stateOf(await opened, question));

async function openNode(): Promise<string> {
  const server = bareNode().listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
