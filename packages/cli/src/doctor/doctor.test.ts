/** `tenure doctor` against real servers and stores, some of which have problems. */
import { fileURLToPath } from "node:url";
import { faketimeLibrary, freePorts, isMissing } from "@tenure/engines";
import { afterAll, describe, expect, it } from "vitest";
import { command, jsonOf } from "../frame/command.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import { TmuxScreen } from "../top/tmux.test-kit.js";
import { certificate } from "./certificate.test-kit.js";
import { type Examined, examinedBy } from "./findings.test-kit.js";

const QUIET = ["--listen", "127.0.0.1:0", "--log-level", "error"];
const TENURE = `${process.execPath} ${fileURLToPath(new URL("../../bin/tenure.js", import.meta.url))}`;
const scratch = new Scratch();
afterAll(() => scratch.close());

/** Each test has its own server, so that none disturbs another. */
async function serve(): Promise<string[]> {
  const { url } = await scratch.serve([...QUIET, "--store", `embedded:${scratch.directory()}/data`]);
  return ["--server", url];
}

async function examined(...args: readonly string[]): Promise<Examined> {
  return examinedBy(await command(["doctor", "--json", ...args]));
}

// All at once, because they mostly wait.
describe.concurrent("tenure doctor", () => {
  it("doctor finds no problem with a healthy server, and leaves no group behind", async () => {
    const server = await serve();
    const report = await examined(...server);
    expect(report.wrong).toEqual([]);
    const told = report.all;
    expect(told).toContain("its store has a quorum");
    expect(told).toMatch(/its wall clock is [\d.]+m?s (?:ahead of|behind) this machine's/);
    expect(told).toMatch(
      /the server's clock runs [+-]\d+\.\d\d % to [+-]\d+\.\d\d % relative to this machine's clock/,
    );
    expect(told).toMatch(/a durable write takes [\d.]+m?s/);
    expect(told).toMatch(/a linearizable read takes [\d.]+m?s/);
    const { groups } = jsonOf<{ groups: unknown[] }>(await command(["groups", "--json", ...server]));
    expect(groups).toEqual([]);
  });

  it("doctor examines a store directly, and reports that a memory store is not durable", async () => {
    const report = await examined("--store", `embedded:${scratch.directory()}/direct`);
    // There is no directory yet: the first use creates it.
    expect(report.wrong).toHaveLength(1);
    const memory = await examined("--store", "memory:");
    expect(memory.wrong).toEqual(["memory store: loses every term when its process exits"]);
  });

  it("doctor exits with 1 and says what to do if no server answers", async () => {
    const [port] = await freePorts(1);
    const { code, stdout, stderr } = await command(["doctor", "--server", `http://127.0.0.1:${port}`]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout).toMatch(/^WRONG {2}server http:\/\/127\.0\.0\.1:\d+: does not respond: .*ECONNREFUSED/m);
    expect(stdout).toMatch(/^ {7}-> check that tenure serve runs there/m);
  });

  it("doctor finds a certificate that is about to expire, the server's and the client's own", async () => {
    const { cert, key } = certificate(scratch.directory(), -360, 5);
    const { url } = await scratch.serve([
      ...QUIET,
      "--store",
      "memory:",
      "--tls-cert",
      cert,
      "--tls-key",
      key,
    ]);
    const report = await examined("--server", url, "--ca", cert);
    expect(report.code).toBe(1);
    expect(report.wrong).toEqual([
      expect.stringMatching(/^CA certificate .*cert\.pem: expires in 4d23h$/),
      expect.stringMatching(/^certificate of https:.*: expires in 4d23h$/),
    ]);
  });

  it("doctor over a store makes the same findings itself", async () => {
    const store = ["--store", `embedded:${scratch.directory()}/data`];
    for (let term = 0; term < 8; term++)
      await command([
        "campaign",
        "g",
        "--node-id",
        `n-${term % 2}`,
        "--ttl",
        "500ms",
        "--wait",
        "10s",
        ...store,
      ]);
    const { wrong } = await examined(...store);
    expect(wrong).toContainEqual(
      expect.stringMatching(/^group g: is flapping: its last [78] changes of leader took [\d.]+s \(/),
    );
  });

  it.skipIf(isMissing("faketime"))(
    "doctor detects wrong server clocks: a wall clock an hour ahead, and a clock that is a tenth slow",
    async () => {
      const { url } = await scratch.serve([...QUIET, "--store", "memory:"], {
        LD_PRELOAD: faketimeLibrary() ?? "",
        FAKETIME: "+1h x0.9",
      });
      const [skew = "", rate = "", ...others] = (await examined("--server", url)).wrong;
      expect(others).toEqual([]);
      expect(skew).toMatch(/its wall clock is (?:59m5\ds|1h) ahead of this machine's/);
      // The bounds always hold: a tenth is lost, somewhere between them.
      const [, least, most] =
        /runs (-[\d.]+) % to (-[\d.]+) % relative to this machine's clock; the safe limit is \+2\.02 %/.exec(
          rate,
        ) ?? [];
      expect(Number(least)).toBeLessThanOrEqual(-10);
      expect(Number(most)).toBeGreaterThanOrEqual(-10);
    },
  );

  it.skipIf(isMissing("tmux"))(
    "doctor in tmux shows the findings of the attention list with advice: a flapping group, and one that lost its leader",
    async () => {
      const server = await serve();
      const tenure = (...args: readonly string[]) => command([...args, ...server]);
      await tenure("groups", "create", "orphan");
      await tenure("campaign", "orphan", "--node-id", "n-0", "--ttl", "500ms");
      for (let term = 0; term < 8; term++) {
        // Never renewed: each candidate waits for the previous lease to expire.
        await tenure("campaign", "flapping", "--node-id", `n-${term % 2}`, "--ttl", "500ms", "--wait", "10s");
      }
      await using screen = await TmuxScreen.start(
        `NO_COLOR=1 ${TENURE} doctor ${server.join(" ")}; echo code=$?`,
        240,
        40,
      );
      const text = (await screen.until(/^code=/m)).join("\n");
      expect(text).toMatch(/^ok {5}server http:\S+: responds, and its store has a quorum$/m);
      expect(text).toMatch(
        /^WRONG {2}group flapping: is flapping: its last [78] changes of leader took [\d.]+s \(\d+ per hour\), mostly because leases expired\n {7}-> leaders renew too late/m,
      );
      expect(text).toMatch(
        /^WRONG {2}group orphan: has had no leader for [\d a-z]+: the lease of n-0 expired, and no candidate has taken over\n {7}-> start its nodes, or delete the group/m,
      );
      expect(text).toMatch(/^\d problems?, \d warnings?, \d notes?, \d ok\ncode=1$/m);
    },
  );
});
