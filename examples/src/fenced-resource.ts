/**
 * A resource that refuses late leaders, for workers in any language: `POST /GROUP/NODE` with the headers `Tenure-Group` and
 * `Tenure-Term`. It remembers the highest term of each group in a directory, and answers 409 `STALE_TERM` to a lower one.
 *
 *     node examples/dist/fenced-resource.js 8081
 *     curl -X POST -H 'Tenure-Group: demo' -H 'Tenure-Term: 2' http://127.0.0.1:8081/demo/b
 *     curl -X POST -H 'Tenure-Group: demo' -H 'Tenure-Term: 1' http://127.0.0.1:8081/demo/a     # refused
 *
 * A real resource also verifies who sends the term, with the mandates that `tenure serve --signing-key` signs: see
 * packages/fence/README.md.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { FileTermCell, nodeFence, TermGate } from "@tenure/fence";

const [port = "0"] = process.argv.slice(2);

const groupOf = (url: string | undefined) => url?.split("/")[1] || "none";
const fence = nodeFence({
  gate: new TermGate({ cell: new FileTermCell({ directory: process.env["TERMS_DIRECTORY"] ?? "./terms" }) }),
  groupId: (request) => groupOf(request.url),
});

const server = createServer((request, response) => {
  const { url = "/", headers } = request;
  request.resume();
  response.once("finish", () => {
    process.stdout.write(`${response.statusCode} ${url} term ${String(headers["tenure-term"])}\n`);
  });
  void fence(request, response).then((isAdmitted) => {
    if (isAdmitted) response.end("done\n");
  });
}).listen(Number(port), "127.0.0.1");

await once(server, "listening");
process.stdout.write(`resource listens on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
await Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
server.close();
server.closeAllConnections();
