/** The table of groups on terminals of several widths, and in a pipe. */
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { command, type CommandOptions } from "../frame/command.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";

const LONG_GROUP = `shop/${"x".repeat(120)}/checkout`;
const LONG_NODE = "ip-10-0-0-1.eu-central-1.compute.internal";
const scratch = new Scratch();
let where: string[];
const list = async (options: CommandOptions, ...args: readonly string[]): Promise<string[]> =>
  (await command(["groups", "list", ...args, ...where], options)).stdout.trimEnd().split("\n");

beforeAll(async () => {
  const server = await scratch.memoryServer();
  where = ["--server", server.url];
  for (const [group, node] of [
    ["billing", "w1"],
    [LONG_GROUP, LONG_NODE],
  ] as const) {
    await command(["groups", "create", group, "--max-ttl", "1h", ...where]);
    await command(["campaign", group, "--node-id", node, "--ttl", "1h", ...where]);
  }
  await command(["groups", "create", "idle", ...where]);
  await command(["groups", "create", "stopped", ...where]);
  await command(["pause", "stopped", ...where]);
});
afterAll(() => scratch.close());

it.each([60, 80, 120])(
  "one long id does not widen the table of groups beyond %i columns",
  async (columns) => {
    const lines = (await list({ isTerminal: true, columns })).map((line) => stripVTControlCharacters(line));
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    expect(lines[0]).toMatch(/^GROUP +STATE +LEADER +TERM +LEASE +MEMBERS$/);
    expect(lines[1]).toMatch(/^billing +led +w1 +1 +\S+ of 1h +1$/);
    expect(lines[3]).toMatch(/^shop\/.*….*t {2}led +\S+ +1 +\S+ of 1h +1$/);
  },
);

it("the table of groups is complete in a pipe, and with -o wide", async () => {
  const piped = await list({});
  expect(piped.join("\n")).toContain(LONG_GROUP);
  expect(piped.join("\n")).not.toContain("\u001B");
  const wide = await list({ isTerminal: true, columns: 60 }, "-o", "wide");
  expect(wide[0]).toMatch(/MEMBERS +TTL +STRATEGY +ALLOWED +NOTE$/);
  expect(wide.join("\n")).toContain(LONG_GROUP);
  expect(stripVTControlCharacters(wide[4] ?? "")).toMatch(
    /^stopped +paused .* paused until resumed, by \S+ since \S+ \S+$/,
  );
});

it("the table of groups is coloured by state on a terminal, and not with NO_COLOR", async () => {
  const lines = await list({ isTerminal: true, columns: 100 });
  expect(lines[1]).toContain("\u001B[32mled");
  expect(lines[2]).toContain("\u001B[2mnever led");
  expect(lines[4]).toContain("\u001B[36mpaused");
  const plain = await list({ isTerminal: true, columns: 100, env: { NO_COLOR: "1" } });
  expect(plain.join("\n")).not.toContain("\u001B");
});

it("-o json prints the same as --json", async () => {
  const [asJson] = await list({}, "-o", "json");
  expect(JSON.parse(asJson ?? "")).toMatchObject({ groups: [{ group_id: "billing" }, {}, {}, {}] });
});
