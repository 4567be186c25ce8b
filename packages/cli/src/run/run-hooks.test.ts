/** The hooks of `tenure run`, its HTTP endpoint and its environment variables. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command } from "../frame/command.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import { ReportedRun } from "./reported-run.test-kit.js";
import { isAlive } from "./run-process.test-kit.js";

describe("the options of tenure run", () => {
  const scratch = new Scratch();
  let server: string;
  beforeAll(async () => {
    const args = ["--listen", "127.0.0.1:0", "--store", "memory:", "--log-level", "warn"];
    server = (await scratch.serve(args)).url;
  });
  afterAll(() => scratch.close());

  const tenure = async (...args: readonly string[]): Promise<void> => {
    const { code, stderr } = await command([...args, "--server", server]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  };
  const run = (
    group: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): ReportedRun => new ReportedRun({ server, group, args: ["--node-id", "n", ...args], env });

  describe("--on-win and --on-lose", () => {
    const say = (hook: string): string =>
      `echo ${hook} $TENURE_GROUP $TENURE_TERM $TENURE_NODE_ID $TENURE_REASON`;

    it("--on-win runs before the command and --on-lose after it, with the group, the term, the node and the reason", async () => {
      const options = ["--on-win", say("win"), "--on-lose", say("lose")];
      await using short = run("hooked", [...options, "--", "echo", "work"]);
      expect(await short.ended()).toBe(0);
      expect(short.stdout).toBe("win hooked 1 n elected\nwork\nlose hooked 1 n finished\n");
      expect(short.events).toEqual(["elected", "exited", "ended"]);
    });

    it("--on-lose runs with the reason of the loss, while this node campaigns again", async () => {
      await using leader = run("deposed", [
        "--on-lose",
        say("lose"),
        "--",
        "sh",
        "-c",
        "echo up; sleep 1000",
      ]);
      await leader.until("its command runs", () => leader.stdout === "up\n");
      await tenure("step-down", "deposed");
      const lines = (): number => leader.stdout.split("\n").length - 1;
      await leader.until("--on-lose and the next term", () => lines() === 3);
      expect(leader.stdout.split("\n").toSorted()).toEqual(["", "lose deposed 1 n not-leader", "up", "up"]);
      await leader.end();
      expect(leader.stdout).toContain("lose deposed 2 n stopped\n");
    });

    it("a hook that fails is reported with its exit code, and the command runs", async () => {
      await using short = run("failing", ["--on-win", "exit 3", "--on-lose", "exit 4", "--", "echo", "work"]);
      expect(await short.ended()).toBe(0);
      expect(short.stdout).toBe("work\n");
      expect(short.reports.filter(({ event }) => event === "hook_failed")).toMatchObject([
        { hook: "on-win", exit_code: 3, message: "--on-win exited with code 3" },
        { hook: "on-lose", exit_code: 4, message: "--on-lose exited with code 4" },
      ]);
    });

    it("a hook is killed after --hook-timeout with everything it has started, and the command runs", async () => {
      const pids = join(scratch.directory(), "pids");
      const stuck = `trap '' TERM; sleep 1000 & echo $! >${pids}; wait`;
      await using short = run("stuck", ["--hook-timeout", "4s", "--on-win", stuck, "--", "echo", "work"]);
      expect(await short.ended()).toBe(0);
      expect(short.stdout).toBe("work\n");
      expect(await short.next("hook_failed")).toMatchObject({
        exit_code: null,
        message: "--on-win was killed because it ran for more than 4s",
      });
      expect(isAlive(Number(readFileSync(pids, "utf8")))).toBe(false);
    });

    it("--on-win is killed when the leadership is lost, before the lease is released", async () => {
      const pids = join(scratch.directory(), "pids");
      const stuck = `echo $$ >${pids}; echo up; exec sleep 1000`;
      const options = ["--after-loss", "exit", "--hook-timeout", "1h", "--on-win", stuck];
      await using leader = run("taken-away", [...options, "--", "echo", "never"]);
      await leader.until("--on-win runs", () => leader.stdout === "up\n");
      await tenure("step-down", "taken-away");
      expect(await leader.ended()).toBe(3);
      expect(leader.stdout).toBe("up\n");
      expect(leader.events).toEqual(["elected", "lost", "ended"]);
      expect(isAlive(Number(readFileSync(pids, "utf8")))).toBe(false);
    });

    it("--on-lose does not delay the release of the lease", async () => {
      const blocked = "echo losing; sleep 1000";
      const options = ["--hook-timeout", "1h", "--on-lose", blocked, "--", "true"];
      await using first = run("released", options);
      await first.until("--on-lose runs", () => first.stdout === "losing\n");
      await tenure("campaign", "released", "--node-id", "other", "--wait", "30s");
    });

    it("the command and the hooks do not share their input", async () => {
      await using short = run("input", ["--on-win", "cat; echo read", "--", "true"]);
      expect(await short.ended()).toBe(0);
      expect(short.stdout).toBe("read\n");
    });
  });

  describe("--http", () => {
    const status = async (port: number, path: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}${path}`)).status;

    it("/leader answers 200 on the leader and 503 on a waiting node, /healthz 200 on both, other paths 404", async () => {
      const [leads = 0, waits = 0] = await freePorts(2);
      await using leader = run("served", ["--http", `:${leads}`, "--", "sleep", "1000"]);
      await leader.next("elected");
      const args = ["--node-id", "m", "--http", `:${waits}`, "--", "sleep", "1000"];
      await using waiting = new ReportedRun({ server, group: "served", args });
      await waiting.next("waiting");
      const paths = ["/leader", "/", "/healthz", "/metrics", "/leader?from=lb", "/nothing"];
      const of = (port: number) => Promise.all(paths.map((path) => status(port, path)));
      expect(await of(leads)).toEqual([200, 200, 200, 200, 200, 404]);
      expect(await of(waits)).toEqual([503, 200, 200, 200, 503, 404]);
      const body: unknown = await (await fetch(`http://127.0.0.1:${waits}/leader`)).json();
      expect(body).toEqual({ name: "n", is_leader: false, term: 1 });
      const posted = await fetch(`http://127.0.0.1:${leads}/leader`, { method: "POST" });
      expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    });

    it("/metrics has the state of tenure run and the events it has reported", async () => {
      const [port = 0] = await freePorts(1);
      await using leader = run("measured", ["--http", `:${port}`, "--", "sh", "-c", "echo up; sleep 1000"]);
      await leader.until("its command runs", () => leader.stdout === "up\n");
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const labels = 'group_id="measured",node_id="n"';
      const values = new Map(
        text.split("\n").map((line) => [line.split(" ")[0], line.split(" ")[1]] as const),
      );
      const gauge = (name: string): number => Number(values.get(`tenure_run_${name}{${labels}}`));
      expect(gauge("is_leader")).toBe(1);
      expect(gauge("term")).toBe(1);
      expect(gauge("lease_left_seconds")).toBeGreaterThan(0);
      expect(gauge("connected")).toBe(1);
      expect(gauge("healthy")).toBe(1);
      expect(gauge("command_running")).toBe(1);
      expect(values.get(`tenure_run_events_total{${labels},event="elected"}`)).toBe("1");
      expect(values.get(`tenure_run_events_total{${labels},event="lost"}`)).toBe("0");
      expect(text).toContain("# TYPE tenure_run_events_total counter\n");
    });
  });

  describe("environment variables", () => {
    it("each option of tenure run is read from its environment variable, and the command line takes precedence", async () => {
      const env = {
        TENURE_NODE_ID: "from-env",
        TENURE_TTL: "2s",
        TENURE_ONCE: "true",
        TENURE_RESTART: "false",
        TENURE_ON_WIN: "echo $TENURE_NODE_ID",
        TENURE_HEALTH_CMD: "",
      };
      const args = ["--on-lose", "echo lose", "--", "echo", "work"];
      await using short = new ReportedRun({ server, group: "by-env", args, env });
      expect(await short.ended()).toBe(0);
      expect(short.stdout).toBe("from-env\nwork\nlose\n");
      await using other = run("by-env", ["--", "true"], { ...env, TENURE_ON_WIN: "" });
      expect(await other.next("elected")).toMatchObject({ node_id: "n" });
    });

    it("a wrong value of an environment variable is reported with its name and exit code 2", async () => {
      const wrong = async (env: Readonly<Record<string, string>>): Promise<unknown> => {
        const { code, stderr } = await scratch.run(["run", "g", "--server", server, "--", "true"], env);
        return [code, stderr];
      };
      expect(await wrong({ TENURE_TTL: "5" })).toEqual([
        2,
        'tenure: TENURE_TTL is "5", which is invalid. Use a number with a unit, such as 500ms, 5s, 1m30s or 2h.\n',
      ]);
      expect(await wrong({ TENURE_ONCE: "perhaps" })).toEqual([
        2,
        'tenure: TENURE_ONCE is "perhaps" and must be true or false\n',
      ]);
      expect(await wrong({ TENURE_AFTER_LOSS: "cry" })).toEqual([
        2,
        'tenure: TENURE_AFTER_LOSS is "cry", which is invalid. Allowed choices are wait, exit.\n',
      ]);
    });
  });
});
