import { describe, expect, test } from "vitest";
import { command, jsonOf } from "../frame/command.test-kit.js";

interface Report {
  readonly ok: boolean;
  readonly shortest_ttl_ms: number | null;
  readonly crash: { readonly worst_ms: number };
  readonly findings: readonly { readonly level: string; readonly about: string }[];
}

async function report(...args: readonly string[]): Promise<Report> {
  return jsonOf<Report>(await command(["plan", "--json", ...args]));
}

describe("tenure plan", () => {
  test("tenure plan prints what a ttl means, and exits with 0 if the network allows it", async () => {
    const { code, stdout } = await command(["plan", "--ttl", "10s", "--rtt", "30ms"]);
    expect(stdout).toContain("no leader after a crash    best 8s, typical 9.1s, worst 10.3s");
    expect(stdout).toContain("leader survives a pause    always up to 6.9s, never more than 8.9s");
    expect(stdout).toContain("Shortest ttl for this network and store:");
    expect(code).toBe(0);
  });

  test.each([
    ["no renewal is answered in time", ["--ttl", "600ms", "--rtt", "250ms"], "ttl"],
    ["no write is finished in time", ["--ttl", "2s", "--write", "600ms"], "ttl"],
    ["every renewal is late", ["--ttl", "2s", "--rtt", "400ms"], "ttl"],
    ["a lost packet ends a leadership", ["--ttl", "1s", "--rtt", "80ms"], "ttl"],
    ["too many campaigns wait", ["--groups", "60000", "--nodes", "3"], "--max-waiting"],
    ["one node sends too much", ["--groups", "20000", "--nodes", "2"], "--rate-limit"],
  ])("tenure plan exits with 1 and advises what to change if %s", async (_, args, about) => {
    const { code, stdout } = await command(["plan", ...args]);
    expect(stdout).toMatch(new RegExp(`^(?:WRONG|WARN ) {2}${about}: .*\\n +-> `, "m"));
    expect(code).toBe(1);
  });

  test("a ttl that tenure plan recommends has no problem, and any shorter one that it knows has", async () => {
    for (const network of [
      ["--rtt", "1ms"],
      ["--rtt", "80ms"],
      ["--rtt", "250ms"],
      ["--rtt", "80ms", "--servers", "3"],
    ]) {
      const { shortest_ttl_ms: shortestMs } = await report("--ttl", "60s", ...network);
      expect(await report("--ttl", `${shortestMs}ms`, ...network)).toMatchObject({ ok: true, findings: [] });
      if (shortestMs !== 500)
        expect((await report("--ttl", `${(shortestMs ?? 0) / 2}ms`, ...network)).ok).toBe(false);
    }
  });

  test("tenure plan refuses a number that is out of bounds", async () => {
    const { code, stderr } = await command(["plan", "--nodes", "0"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--nodes")]);
  });
});
