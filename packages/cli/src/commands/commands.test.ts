/** Every command, over a real `tenure serve` and directly over a store, with the same outcome. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../engines/until.test-kit.js";
import { command, type Finished, jsonOf } from "../frame/command.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import type { ServerProcess } from "../server-process.test-kit.js";

interface Won {
  readonly is_leader: boolean;
  readonly leader: { readonly node_id: string; readonly term: number };
  readonly instance_start_uuid: string;
  readonly lead_for_ms: number;
}

interface GroupJson {
  readonly group_id: string;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly allowed_nodes: readonly string[] | null;
  readonly paused: boolean;
}

const scratch = new Scratch();
const where: { server: readonly string[]; store: readonly string[] } = { server: [], store: [] };
let server: ServerProcess;
beforeAll(async () => {
  const served = `embedded:${scratch.directory()}/served`;
  server = await scratch.serve(["--listen", "127.0.0.1:0", "--store", served, "--log-level", "error"]);
  where.server = ["--server", server.url];
  where.store = ["--store", `embedded:${scratch.directory()}/direct`];
});
afterAll(() => scratch.close());

describe.each(["server", "store"] as const)("commands over a %s", (kind) => {
  const tenure = (...args: readonly string[]): Promise<Finished> => command([...args, ...where[kind]]);
  const win = async (group: string, node: string, ...more: readonly string[]): Promise<Won> =>
    jsonOf<Won>(await tenure("campaign", group, "--node-id", node, "--ttl", "60s", "--json", ...more));

  it("campaign prints the mandate, and exits with 3 if another node leads", async () => {
    const won = await tenure("campaign", "c", "--node-id", "a", "--ttl", "50s");
    expect(won).toMatchObject({ code: 0, stderr: "" });
    expect(won.stdout).toMatch(
      /^a leads c in term 1 for 4\d(?:\.\d)?s, until \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ/,
    );
    expect(won.stdout).toContain("tenure renew c --node-id a --term 1 --ttl 50s");
    const lost = await tenure("campaign", "c", "--node-id", "b");
    expect(lost.code).toBe(3);
    expect(lost.stdout).toMatch(/^a leads c in term 1; retry in /);
    const asJson = await tenure("campaign", "c", "--node-id", "b", "--json");
    expect(asJson.code).toBe(3);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ is_leader: false, leader: { node_id: "a", term: 1 } });
  });

  it("a mandate is never longer than the ttl less the margin for clock drift", async () => {
    const { lead_for_ms } = await win("margin", "a");
    expect(lead_for_ms).toBeLessThanOrEqual(59_400);
    expect(lead_for_ms).toBeGreaterThan(50_000);
  });

  it("another start of the same node is another candidate, and the same instance keeps its term", async () => {
    await win("fresh", "a");
    expect((await tenure("campaign", "fresh", "--node-id", "a")).code).toBe(3);
    const first = await win("instance", "a", "--instance", "one");
    expect(first.instance_start_uuid).toBe("one");
    const again = await tenure("campaign", "instance", "--node-id", "a");
    expect(again.code).toBe(3);
    expect((await win("instance", "a", "--instance", "one")).leader.term).toBe(first.leader.term);
  });

  it("leader prints the leader, and exits with 3 if there is none", async () => {
    const none = await tenure("leader", "l");
    expect(none.code).toBe(3);
    expect(none.stdout).toMatch(
      /^l has no leader; it never had one\nno group l; .*\na group is created by its first campaign\n$/,
    );
    await win("l", "a", "--metadata", '{"zone":"x"}');
    const led = await tenure("leader", "l");
    expect(led.code).toBe(0);
    expect(led.stdout).toMatch(
      /^a leads l in term 1, lease (?:[\d.]+s|1m) of 1m left, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ \(.+\)\n$/,
    );
    const { leader } = jsonOf<{ leader: object }>(await tenure("leader", "l", "--json"));
    expect(leader).toMatchObject({ node_id: "a", term: 1, metadata: { zone: "x" } });
    expect((await tenure("leader", "l", "--local", "--json")).stdout).toContain('"age_ms":');
  });

  it("renew keeps a term and resign ends it, and both exit with 3 for a term that is not held", async () => {
    const { instance_start_uuid: instance } = await win("r", "a");
    const claim = ["r", "--node-id", "a", "--term", "1"];
    const renewed = await tenure("renew", ...claim, "--ttl", "20s", "--instance", instance);
    expect(renewed).toMatchObject({ code: 0 });
    expect(renewed.stdout).toMatch(/^a leads r in term 1 for another 1\d(?:\.\d)?s/);
    expect((await tenure("renew", ...claim, "--instance", "other")).code).toBe(3);
    expect((await tenure("renew", "r", "--node-id", "a", "--term", "7")).stdout).toContain("stop its work");
    expect(await tenure("resign", ...claim)).toMatchObject({
      code: 0,
      stdout: "a no longer leads r; term 1 ended\n",
    });
    const late = await tenure("renew", ...claim, "--json");
    expect(late.code).toBe(3);
    expect(JSON.parse(late.stdout)).toEqual({ ok: false, error: "NOT_LEADER", current_leader: null });
    expect((await tenure("resign", "r", "--node-id", "b", "--term", "1")).code).toBe(3);
  });

  it("groups are created, listed, shown, changed and deleted", async () => {
    const created = await tenure(
      "groups",
      "create",
      "team/one",
      "--min-ttl",
      "2s",
      "--max-ttl",
      "30s",
      "--allow",
      "a,b",
      "--json",
    );
    expect(jsonOf<GroupJson>(created)).toMatchObject({
      policy: { min_ttl_ms: 2000, max_ttl_ms: 30_000, strategy: "first" },
      allowed_nodes: ["a", "b"],
    });
    expect((await tenure("groups", "create", "team/one")).code).toBe(1);
    const update = ["--takeover-delay", "1s", "--strategy", "priority", "--preempt", "--retry-jitter", "0.5"];
    const updated = await tenure("groups", "update", "team/one", ...update, "--allow-any", "--json");
    expect(jsonOf<GroupJson>(updated)).toMatchObject({
      policy: { min_ttl_ms: 2000, takeover_delay_ms: 1000, preempt: true, retry: { jitter: 0.5 } },
      allowed_nodes: null,
    });
    const shown = await tenure("groups", "show", "team/one");
    expect(shown.stdout).toContain("ttl             2s to 30s\n");
    expect(shown.stdout).toContain("strategy        priority, preempting\n");
    expect((await tenure("groups", "update", "team/one", "--no-preempt", "--json")).stdout).toContain(
      '"preempt":false',
    );
    await tenure("groups", "create", "team/two");
    const { groups } = jsonOf<{ groups: GroupJson[] }>(
      await tenure("groups", "list", "--prefix", "team/", "--json"),
    );
    expect(groups.map(({ group_id }) => group_id)).toEqual(["team/one", "team/two"]);
    await tenure("campaign", "team/two", "--node-id", "a");
    expect((await tenure("groups", "delete", "team/two")).code).toBe(1);
    expect((await tenure("groups", "delete", "team/two", "--force")).code).toBe(0);
    expect((await tenure("groups")).stdout).not.toContain("team/two");
  });

  it("step-down makes the leader step down, at once with --force, and bans it for a while", async () => {
    await win("s", "a");
    expect((await tenure("step-down", "s", "--force", "--ban", "1m", "--by", "operator")).code).toBe(0);
    const banned = await tenure("campaign", "s", "--node-id", "a");
    expect(banned).toMatchObject({ code: 3 });
    expect(banned.stdout).toMatch(
      /^a may not lead s for another [\d.]+[sm]: it is banned after a step-down; retry in /,
    );
    expect((await win("s", "b")).leader.term).toBe(2);
  });

  it("after pause no node wins until resume", async () => {
    await tenure("groups", "create", "p");
    expect((await tenure("pause", "p", "--for", "1m")).stdout).toBe("p is paused; no new leader for 1m\n");
    expect((await tenure("campaign", "p", "--node-id", "a")).stdout).toContain(
      "p is paused; no new leader for another ",
    );
    expect((await tenure("groups", "list", "--prefix", "p")).stdout).toMatch(/^p +paused +- +0 /m);
    expect((await tenure("resume", "p")).code).toBe(0);
    expect((await win("p", "a")).is_leader).toBe(true);
  });

  it("a transfer to a node that does not wait changes nothing and exits with 1", async () => {
    await win("t", "a");
    const failed = await tenure("transfer", "t", "b", "--timeout", "200ms");
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    // What is wrong, and no advice that does not fit.
    expect(failed.stderr).toMatch(/^tenure: [^\n;]*b[^\n]*\n$/);
    expect(failed.stderr).not.toContain("decide");
    expect((await tenure("leader", "t")).stdout).toContain("a leads t in term 1");
  });

  it("history, why and watch agree on the events", async () => {
    await win("h", "a");
    await tenure("resign", "h", "--node-id", "a", "--term", "1");
    await win("h", "b");
    const history = (await tenure("history", "h")).stdout.trimEnd().split("\n");
    expect(history.map((line) => line.slice(22))).toEqual([
      "EVENT    NODE  TERM  REASON",
      "elected  a     1",
      "lost     a     1     resigned",
      "elected  b     2",
    ]);
    const csv = (await tenure("history", "h", "--csv")).stdout.trimEnd().split("\n");
    expect(csv[0]).toBe("time,type,term,leader_node_id,previous_leader_node_id,reason,by,silent_ms");
    expect(csv[2]).toMatch(/^\d{4}-.*Z,LEADER_LOST,1,,a,resigned,,$/);
    expect((await tenure("history", "h", "--since", "1h", "--csv")).stdout.split("\n")).toHaveLength(5);
    expect((await tenure("history", "h", "--since", "2100-01-01")).stdout).toBe(
      "h has no changes in this time\n",
    );
    const why = (await tenure("why", "h")).stdout;
    expect(why).toMatch(
      /^b leads h in term 2 since .*\nb won .* after a stopped leading\.\na led in term 1 .*it resigned\.\n/,
    );
    const watched = await tenure("watch", "h", "--cursor", "1", "--count", "2", "--json");
    const events = watched.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events).toMatchObject([
      { type: "LEADER_LOST", term: 1, reason: "resigned", cursor: "2" },
      { type: "LEADER_CHANGED", term: 2, leader_node_id: "b", cursor: "3" },
    ]);
    const { events: all } = jsonOf<{ events: { number: number }[] }>(await tenure("history", "h", "--json"));
    expect(all.map(({ number }) => number)).toEqual([1, 2, 3]);
  });

  it("top prints a plain table without a terminal", async () => {
    await win("top", "a");
    const { stdout, code } = await tenure("top");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^GROUP +STATE +LEADER +TERM LEASE +CHANGES\/H MEMBERS$/m);
    expect(stdout).toMatch(/^top +led +a +1 █{10} (?:1m|[45]\d(?:\.\d)?s) +1 +\d$/m);
    expect(stdout).not.toContain("\u001B");
    const { groups } = jsonOf<{ groups: { group_id: string; changes_per_hour: number }[] }>(
      await tenure("top", "--json"),
    );
    expect(groups.find(({ group_id }) => group_id === "top")?.changes_per_hour).toBe(1);
  });

  it("a refusal of the elector is one sentence in terms of the command line, with exit code 2", async () => {
    const cases: [string[], string][] = [
      [["leader", "not an id"], "GROUP must be 1 to 200"],
      [["campaign", "g", "--node-id", "no id"], "--node-id must be"],
      [
        ["campaign", "limits", "--ttl", "10ms"],
        "--ttl is 10ms, outside the policy of this group; allowed are 500ms to 1m",
      ],
      [["campaign", "g", "--wait", "2m"], "--wait is 2m and must be a duration from 0s to 1m"],
      [["campaign", "g", "--metadata", "nonsense"], "--metadata must be a JSON object"],
      [
        ["groups", "create", "g2", "--min-ttl", "5s", "--max-ttl", "1s"],
        "--min-ttl is 5s, more than --max-ttl, which is 1s",
      ],
      [["groups", "create", "g2", "--preempt"], '--preempt is true and needs --strategy "priority"'],
    ];
    for (const [args, sentence] of cases) {
      const { code, stdout, stderr } = await tenure(...args);
      expect(stderr).toContain(`tenure: ${sentence}`);
      expect({ code, stdout, lines: stderr.split("\n").length }).toEqual({ code: 2, stdout: "", lines: 2 });
    }
  });
});

describe("commands over a server, with other clients", () => {
  const tenure = (...args: readonly string[]): Promise<Finished> => command([...args, ...where.server]);

  it("an operator's command leaves its reason in the audit log", async () => {
    await tenure("campaign", "audited", "--node-id", "a", "--ttl", "60s");
    await tenure("pause", "audited", "--reason", "migration");
    await tenure("resume", "audited", "--reason", "migrated");
    await tenure("transfer", "audited", "b", "--timeout", "1ms", "--reason", "rolling over");
    await tenure("step-down", "audited", "--force", "--reason", "disk is failing");
    // Whole lines only, which come through a pipe and may arrive later than the answer.
    const audited = (): readonly string[] =>
      server.stderr
        .split("\n")
        .slice(0, -1)
        .filter((line) => line.includes('"group_id":"audited"'));
    await until(10_000, "four lines of the audit log", async () => audited().length >= 4);
    const acts = audited().map((line) => JSON.parse(line) as { act: string; details: { reason: string } });
    expect(acts.map(({ act, details }) => `${act}: ${details.reason}`)).toEqual([
      "pause: migration",
      "resume: migrated",
      "transfer: rolling over",
      "step-down: disk is failing",
    ]);
    expect((await tenure("pause", "audited", "--reason", "")).stderr).toBe(
      "tenure: --reason must be 1 to 500 characters\n",
    );
  });

  it("a waiting campaign is listed as a member, and a transfer hands over to it", async () => {
    await tenure("campaign", "w", "--node-id", "a", "--ttl", "60s");
    const waiting = tenure("campaign", "w", "--node-id", "b", "--wait", "30s", "--json");
    const lines = async (): Promise<string> => (await tenure("members", "w")).stdout;
    while (!/^b +candidate +yes/m.test(await lines()));
    expect(await lines()).toMatch(/^a +leader +yes/m);
    const handedOver = tenure("transfer", "w", "b", "--timeout", "10s");
    // The leader learns of it with its next renewal.
    const renew = (): Promise<Finished> =>
      tenure("renew", "w", "--node-id", "a", "--term", "1", "--ttl", "60s");
    while (!(await renew()).stdout.includes("b waits to take over"));
    await tenure("resign", "w", "--node-id", "a", "--term", "1");
    expect(await handedOver).toMatchObject({ code: 0, stdout: "b leads w now, in term 2\n" });
    const won = await waiting;
    expect(JSON.parse(won.stdout)).toMatchObject({ is_leader: true, leader: { node_id: "b", term: 2 } });
  });

  it("a transfer without a node says if no node is ready, and names the node that it chose", async () => {
    await tenure("campaign", "chosen", "--node-id", "a", "--ttl", "60s");
    expect(await tenure("transfer", "chosen")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no candidate is waiting for this group") as string,
    });
    const waiting = tenure("campaign", "chosen", "--node-id", "b", "--wait", "30s", "--json");
    while (!/^b +candidate/m.test((await tenure("members", "chosen")).stdout));
    const handedOver = tenure("transfer", "chosen");
    const renewal = ["--node-id", "a", "--term", "1", "--ttl", "60s"];
    while (!(await tenure("renew", "chosen", ...renewal)).stdout.includes("b waits to take over"));
    await tenure("resign", "chosen", "--node-id", "a", "--term", "1");
    expect(await handedOver).toMatchObject({ code: 0, stdout: "b leads chosen now, in term 2\n" });
    expect(JSON.parse((await waiting).stdout)).toMatchObject({ is_leader: true });
  });

  it("a waiting campaign reports on stderr who leads and how long it waits; another start of its node is named as such", async () => {
    await tenure("campaign", "told", "--node-id", "a", "--ttl", "60s");
    const args = ["campaign", "told", "--node-id", "b", "--wait", "30s", "--json", ...where.server];
    const user = new AbortController();
    const { stdout, stderr } = await command(args, {
      signal: user.signal,
      onReport: () => user.abort(new Error("seen")),
    });
    expect(stdout).toBe("");
    expect(JSON.parse(stderr.split("\n")[0] ?? "")).toEqual({
      message: "a leads told in term 1; waiting up to 30s",
      event: "waiting",
      leader: "a",
      wait_ms: 30_000,
    });
    const again = await tenure("campaign", "told", "--node-id", "a");
    expect(again.stdout).toMatch(/^another start of a leads told in term 1; retry in /);
  });

  it("an interrupted campaign leaves the group without a leader", async () => {
    await tenure("campaign", "i", "--node-id", "a", "--ttl", "60s");
    const user = new AbortController();
    const waiting = command(["campaign", "i", "--node-id", "b", "--wait", "30s", ...where.server], {
      signal: user.signal,
    });
    while (!/^b +candidate/m.test((await tenure("members", "i")).stdout));
    user.abort(new Error("interrupted"));
    expect(await waiting).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/(?:^|\n)tenure: interrupted\n$/) as string,
    });
    await tenure("resign", "i", "--node-id", "a", "--term", "1");
    expect((await tenure("leader", "i")).stdout).toBe(
      "i has no leader; its last term was 1\nsee why with tenure why i\n",
    );
  });

  it("a watch of all groups runs until the user interrupts it", async () => {
    const user = new AbortController();
    // The current state is printed first; what follows is an event.
    await tenure("groups", "create", "all/other");
    let [began, seen]: (() => void)[] = [];
    const hasBegun = new Promise<void>((resolve) => (began = resolve));
    const saw = new Promise<void>((resolve) => (seen = resolve));
    const watching = command(["watch", ...where.server], {
      signal: user.signal,
      onOutput: (stdout) => {
        began?.();
        if (/ all\/one +elected +a +1$/m.test(stdout)) seen?.();
      },
    });
    await hasBegun;
    await tenure("campaign", "all/one", "--node-id", "a");
    await saw;
    user.abort(new Error("enough"));
    expect(await watching).toMatchObject({ code: 0, stderr: "" });
  });
});
