import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command, jsonOf } from "../frame/command.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";

interface Report {
  readonly renewals_per_second: number;
  readonly renewal_failures: number;
  readonly renewal_ms: { readonly count: number; readonly p50: number; readonly p99: number };
  readonly handover_ms: { readonly count: number };
  readonly failover_ms: { readonly count: number; readonly p50: number };
}

const BIN = fileURLToPath(new URL("../../bin/tenure.js", import.meta.url));
/** The limit of a request is a part of the ttl, and a busy machine must keep it. */
const TTL_MS = 3000;
const SMALL = [
  "--groups",
  "20",
  "--duration",
  "600ms",
  "--rate",
  "200",
  "--rounds",
  "2",
  "--ttl",
  `${TTL_MS}ms`,
];
const scratch = new Scratch();
const where: { server: string[]; store: string[] } = { server: [], store: [] };
beforeAll(async () => {
  const store = `embedded:${scratch.directory()}/served`;
  const server = await scratch.serve(["--listen", "127.0.0.1:0", "--store", store, "--log-level", "error"]);
  where.server = ["--server", server.url];
  where.store = ["--store", `embedded:${scratch.directory()}/direct`];
});
afterAll(() => scratch.close());

async function groupsOf(kind: "server" | "store"): Promise<readonly unknown[]> {
  const listed = await command(["groups", "list", "--prefix", "tenure-bench", "--json", ...where[kind]]);
  return jsonOf<{ groups: readonly unknown[] }>(listed).groups;
}

describe.concurrent.each(["server", "store"] as const)("bench over a %s", (kind) => {
  it("bench measures renewals and failover, keeps to its rate, and leaves no group behind", async () => {
    const report = jsonOf<Report>(await command(["bench", ...SMALL, "--json", ...where[kind]]));
    expect(report.renewal_failures).toBe(0);
    // Never more than the rate: one is due at the start, and the last may come a moment late.
    expect(report.renewal_ms.count).toBeLessThanOrEqual(0.61 * 200 + 2);
    expect(report.renewal_ms.count).toBeGreaterThan(0);
    expect(report.handover_ms.count).toBe(2);
    expect(report.failover_ms.count).toBe(2);
    // No node may lead before the lease of the dead one is over.
    expect(report.failover_ms.p50).toBeGreaterThanOrEqual(TTL_MS);
    expect(await groupsOf(kind)).toEqual([]);
  });
});

it.each([
  ["while it makes them", async () => (await groupsOf("server")).length > 0],
  ["while it renews", async () => (await command(["leader", "tenure-bench/0", ...where.server])).code === 0],
])("bench removes its groups when it is interrupted: %s", async (_case, isTime) => {
  const user = new AbortController();
  const running = command(["bench", "--groups", "100", "--duration", "60s", ...where.server], {
    signal: user.signal,
  });
  while (!(await isTime()));
  user.abort(new Error("interrupted"));
  expect(await running).toMatchObject({ code: 1, stdout: "", stderr: "tenure: interrupted\n" });
  expect(await groupsOf("server")).toEqual([]);
});

it("bench removes its groups even if its report is not read", async () => {
  const bench = spawn(process.execPath, [BIN, "bench", ...SMALL, ...where.server], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let complaints = "";
  bench.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
  bench.stdout.destroy();
  expect(await once(bench, "exit")).toEqual([0, null]);
  expect(complaints).toBe("");
  expect(await groupsOf("server")).toEqual([]);
});

it("bench shows its progress on a terminal, separately from its report", async () => {
  const { stdout, stderr, code } = await command(["bench", ...SMALL, ...where.server], { isTerminal: true });
  expect(code).toBe(0);
  expect(stderr).toMatch(/\[█*░*\] +\d+ % {2}renewals/);
  expect(stderr).toMatch(/100 % {2}failover/);
  expect(stdout.split("\n").map((line) => line.split(" ")[0])).toEqual([
    "elections",
    "renewals",
    "handover",
    "failover",
    "",
  ]);
});

it("bench does not touch led groups below its prefix", async () => {
  await command(["campaign", "mine/0", "--node-id", "a", "--ttl", "60s", ...where.server]);
  const refused = await command(["bench", ...SMALL, "--prefix", "mine", ...where.server]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("a leads mine/0, a group of the benchmark");
  expect((await command(["leader", "mine/0", ...where.server])).stdout).toMatch(
    /^a leads mine\/0 in term 1,/,
  );
});
