/** Who did what to a group, why and since when: in every command that a person looks at, over a server and over a store. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command, type Finished, jsonOf } from "../frame/command.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";

const scratch = new Scratch();
const where: Record<"server" | "store", readonly string[]> = { server: [], store: [] };
beforeAll(async () => {
  const server = await scratch.memoryServer();
  where.server = ["--server", server.url];
  where.store = ["--store", `embedded:${scratch.directory()}/direct`];
});
afterAll(() => scratch.close());

const TIME = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`;

describe.each(["server", "store"] as const)("acts of operators over a %s", (kind) => {
  const tenure = (...args: readonly string[]): Promise<Finished> => command([...args, ...where[kind]]);
  /** A server without authentication names every operator the same. */
  const by = kind === "server" ? String.raw`\S+` : "jane";

  it("a pause shows its operator, its reason and its beginning in groups, leader, why, history and audit", async () => {
    await tenure("campaign", "paused", "--node-id", "a", "--ttl", "60s");
    await tenure("pause", "paused", "--reason", "migration", "--by", "jane");
    const pause = `until resumed, by ${by} since ${TIME}: "migration"`;
    const shown = (await tenure("groups", "show", "paused")).stdout;
    expect(shown).toMatch(new RegExp(`^paused +${pause}$`, "m"));
    expect(shown).toMatch(
      new RegExp(`^operator acts +${TIME}: ${by} paused the group: "migration"\\.$`, "m"),
    );
    expect((await tenure("leader", "paused")).stdout).toMatch(new RegExp(`^paused ${pause}: `, "m"));
    expect((await tenure("why", "paused")).stdout).toMatch(
      new RegExp(`^The group is paused ${pause}\\. `, "m"),
    );
    expect((await tenure("history", "paused")).stdout).toMatch(
      new RegExp(`^${TIME} +elected +a +1\\n${TIME} +paused +- +1 +by ${by}: "migration"$`, "m"),
    );
    expect((await tenure("groups", "-o", "wide")).stdout).toMatch(
      new RegExp(`^paused .* paused ${pause}$`, "m"),
    );
    expect((await tenure("audit", "--group", "paused")).stdout).toMatch(
      new RegExp(
        `^TIME +GROUP +ACT +NODE +TERM +DETAILS\\n${TIME} +paused +paused +- +1 +by ${by}: "migration"\\n$`,
      ),
    );
    const { acts } = jsonOf<{ acts: object[] }>(await tenure("history", "paused", "--json"));
    expect(acts).toMatchObject([{ act: "pause", reason: "migration" }]);
    expect((await tenure("history", "paused", "--csv")).stdout).toMatch(/^[^,]+Z,pause,1,,,migration,\S+,$/m);
  });

  it("a step-down with a ban, and a change of the policy, say who and why", async () => {
    await tenure("campaign", "banned", "--node-id", "a", "--ttl", "60s");
    const stepDown = ["--force", "--ban", "5m", "--reason", "disk is failing", "--by", "jane"];
    expect((await tenure("step-down", "banned", ...stepDown)).stdout).toBe(
      "a no longer leads banned; the group is free; a cannot win again for 5m\n",
    );
    await tenure("groups", "update", "banned", "--max-ttl", "30s", "--reason", "tighter");
    expect((await tenure("groups", "show", "banned")).stdout).toMatch(
      new RegExp(`^banned +a for another .*, by ${by}: "disk is failing"$`, "m"),
    );
    const why = (await tenure("why", "banned")).stdout;
    expect(why).toMatch(
      new RegExp(`then it was asked to step down, requested by ${by}: "disk is failing"\\.`),
    );
    expect(why).toContain('(max_ttl: 1m -> 30s): "tighter".\n');
  });

  it("audit lists the newest acts first, by group and by operator, a page at a time", async () => {
    await tenure("groups", "create", "audited", "--by", "jane");
    await tenure("groups", "delete", "audited", "--by", "jane", "--reason", "unused");
    const all = jsonOf<{ acts: { act: string; by: string; reason: string | null }[] }>(
      await tenure("audit", "--group", "audited", "--json"),
    );
    expect(all.acts.map(({ act, reason }) => [act, reason])[0]).toEqual(["delete", "unused"]);
    const operator = all.acts[0]?.by ?? "";
    const page = jsonOf<{ acts: object[]; cursor: string }>(
      await tenure("audit", "--by", operator, "--limit", "1", "--json"),
    );
    expect(page.acts).toMatchObject([{ group_id: "audited", act: "delete" }]);
    const next = jsonOf<{ acts: object[] }>(
      await tenure("audit", "--by", operator, "--limit", "1", "--cursor", page.cursor, "--json"),
    );
    expect(next.acts).not.toEqual(page.acts);
    expect((await tenure("audit", "--by", "somebody-else")).stdout).toBe("there are no such acts\n");
  });

  it("why and history count the failover after an expired lease from the last renewal", async () => {
    await tenure("campaign", "crashed", "--node-id", "a", "--ttl", "1s");
    let won: Finished;
    do won = await tenure("campaign", "crashed", "--node-id", "b", "--wait", "10s", "--ttl", "60s");
    while (won.code !== 0);
    const [, seconds] =
      /b took over; no node may have acted for up to ([\d.]+)s, since a was last heard from\./.exec(
        (await tenure("why", "crashed")).stdout,
      ) ?? [];
    // At least the ttl: the lease of a expired before b won.
    expect(Number(seconds)).toBeGreaterThanOrEqual(1);
    expect((await tenure("history", "crashed")).stdout).toMatch(
      /^\S+ \S+ +lost +a +1 +lease expired, [\d.]+s after the last renewal$/m,
    );
  });
});
