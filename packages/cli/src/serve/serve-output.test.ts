/** What `tenure serve` prints: text on a terminal, JSON lines elsewhere. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Api, termWon } from "../api.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import { TmuxScreen } from "../top/tmux.test-kit.js";

const COMMAND = fileURLToPath(new URL("../../bin/tenure.js", import.meta.url));

let scratch: Scratch;
let directory: string;
beforeEach(() => {
  scratch = new Scratch();
  directory = scratch.directory();
});
afterEach(() => scratch.close());

/** A request that is being answered when the server stops: a campaign that waits. */
async function waiting(api: Api): Promise<{ readonly answered: Promise<unknown> }> {
  expect(termWon(await api.campaign("g", "leader", 60_000))).toBe(1);
  const answered = api.campaign("g", "waiter", 60_000, 60_000);
  while (!(await api.text("/metrics")).includes("waiting_campaigns 1"));
  return { answered };
}

it("serve on a terminal prints where the dashboard and the API docs are, and what it does when it stops", async () => {
  await using screen = await TmuxScreen.start(
    `cd ${directory} && env -i PATH=$PATH ${process.execPath} ${COMMAND} serve --listen 127.0.0.1:0`,
    120,
    20,
  );
  const text = (await screen.until(/tenure listening on/)).join("\n");
  const [, url = "", port] =
    /^tenure listening on (http:\/\/127.0.0.1:(\d+)) \(store: embedded\)$/m.exec(text) ?? [];
  expect(text).toContain(
    [
      `Dashboard: ${url}/`,
      `API docs: ${url}/docs`,
      `Store: embedded in ${directory}/tenure-data`,
      "Authentication: none; every caller that can reach this server is an admin",
    ].join("\n"),
  );
  expect(text).not.toContain("{");
  const api = new Api(Number(port));
  const { answered } = await waiting(api);
  await screen.key("C-c");
  const stopped = (await screen.until(/^stopped$/m)).join("\n");
  expect(stopped).toContain("stopping: answering 1 request in flight (0 watches, 1 waiting campaign)");
  expect(await answered).toMatchObject({ status: 200, body: { is_leader: false } });
  api.close();
});

it("serve without a terminal writes its log as JSON lines, and the ready line alone to standard output", async () => {
  const server = await scratch.serve(["--listen", "127.0.0.1:0", "--store", "memory:"]);
  const api = new Api(server.port);
  const { answered } = await waiting(api);
  expect(await server.end("SIGTERM")).toBe(0);
  await answered;
  api.close();
  const lines = server.stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  expect(lines).toMatchObject([
    {
      level: 30,
      event: "started",
      url: server.url,
      docs_url: `${server.url}/docs`,
      store: "memory",
      auth: "none",
      msg: "server started without authentication: every caller that can reach it is an admin",
    },
    { event: "stopping", requests: 1, watches: 0, waiting_campaigns: 1 },
    { event: "stopped" },
  ]);
  expect(server.stdout).toBe(`${server.readyLine}\n`);
});

it("serve writes the log lines of its stop in order when the thread that writes them is busy", async () => {
  const preload = join(directory, "busy.mjs");
  writeFileSync(
    preload,
    `import { pbkdf2 } from "node:crypto";
    process.on("SIGTERM", () => pbkdf2("", "", 100_000, 64, "sha512", () => {}));`,
  );
  const server = await scratch.serve(["--listen", "127.0.0.1:0", "--store", "memory:"], {
    NODE_OPTIONS: `--import=${preload}`,
    UV_THREADPOOL_SIZE: "1",
  });
  expect(await server.end("SIGTERM")).toBe(0);
  const events = server.stderr
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { readonly event: string }).event);
  expect(events).toEqual(["started", "stopping", "stopped"]);
});

it("serve --log-format text writes text although there is no terminal", async () => {
  const options = ["--listen", "127.0.0.1:0", "--store", "memory:", "--log-format", "text"];
  const server = await scratch.serve(options);
  expect(await server.end("SIGTERM")).toBe(0);
  expect(server.stderr).toBe(
    [
      `Dashboard: ${server.url}/`,
      `API docs: ${server.url}/docs`,
      "Store: memory",
      "Authentication: none; every caller that can reach this server is an admin",
      "stopping",
      "stopped",
      "",
    ].join("\n"),
  );
});
