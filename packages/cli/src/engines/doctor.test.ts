/** `tenure doctor --store` over real engines: with defaults, configured well, and configured badly. */
import {
  type Engine,
  type Installed,
  isMissing,
  startEtcd,
  startNats,
  startPostgres,
  startZookeeper,
} from "@tenure/engines";
import { expect, it } from "vitest";
import { command } from "../frame/command.test-kit.js";
import { type Examined, examinedBy } from "../doctor/findings.test-kit.js";

async function examined(...args: readonly string[]): Promise<Examined> {
  return examinedBy(await command(["doctor", "--json", ...args]));
}

/** Starts, examines, stops. */
async function over<E extends Engine>(
  starting: Promise<E>,
  work: (engine: E) => Promise<void>,
): Promise<void> {
  await using engine = await starting;
  await work(engine);
}

/** A server whose loss starts no election, so that the findings do not depend on the moment. */
async function aFollower(endpoints: readonly string[]): Promise<number> {
  const statuses = await Promise.all(
    endpoints.map(async (endpoint) => {
      const answer = await fetch(`http://${endpoint}/v3/maintenance/status`, { method: "POST", body: "{}" });
      return (await answer.json()) as { header: { member_id: string }; leader: string };
    }),
  );
  return statuses.findIndex(({ header, leader }) => header.member_id !== leader);
}

function engine(name: string, needs: Installed, test: () => Promise<void>): void {
  it.skipIf(isMissing(needs))(name, test);
}

engine("etcd is found to keep every revision, and to be filling up", "etcd", () =>
  over(startEtcd({ args: ["--quota-backend-bytes", String(8 * 2 ** 20)] }), async ({ url, endpoints }) => {
    const young = await examined("--store", url);
    expect(young).toMatchObject({ wrong: [] });
    expect(young.all).toMatch(/etcd 127\.0\.0\.1:\d+: is 3\.\d+\.\d+/);
    expect(young.all).toContain("if it fails, every election stops");
    const put = (value: string): Promise<Response> =>
      fetch(`http://${endpoints[0]}/v3/kv/put`, {
        method: "POST",
        body: JSON.stringify({ key: "aw==", value }),
      });
    for (let batch = 0; batch < 16; batch++)
      await Promise.all(Array.from({ length: 64 }, () => put("dmFs".repeat(1600))));
    const { code, wrong } = await examined("--store", url);
    expect(code).toBe(1);
    expect(wrong).toEqual([
      expect.stringMatching(/its data is \S+ MiB of its quota of 8\.0 MiB/),
      expect.stringMatching(/keeps all of its 1\d{3} revisions: it was never compacted/),
    ]);
    await fetch(`http://${endpoints[0]}/v3/kv/compaction`, {
      method: "POST",
      body: JSON.stringify({ revision: "1020" }),
    });
    expect((await examined("--store", url)).wrong.join()).not.toContain("never compacted");
    // Until it is full: then it raises its alarm and accepts no more writes.
    for (;;) if (!(await put("dmFs".repeat(50_000))).ok) break;
    const full = await examined("--store", url);
    expect(full.wrong.join("\n")).toContain("is full and refuses every write");
  }),
);

engine("a member of etcd that is gone is found, while the rest goes on", "newer etcd", () =>
  over(startEtcd({ nodes: 3, release: "newer" }), async ({ url, nodes, endpoints }) => {
    expect(await examined("--store", url)).toMatchObject({ wrong: [] });
    const lost = await aFollower(endpoints);
    await nodes[lost]?.kill();
    const { code, wrong } = await examined("--store", url);
    expect(code).toBe(1);
    expect(wrong).toEqual([
      expect.stringMatching(new RegExp(`etcd ${endpoints[lost]}: does not respond`)),
      "etcd quorum: 2 of the 3 members in the URL respond and have a leader",
    ]);
    await nodes[(lost + 1) % 3]?.kill();
    const without = await examined("--store", url);
    expect(without.code).toBe(1);
    expect(without.wrong.join("\n")).toMatch(/store: cannot be used/);
  }),
);

engine("an old nats-server is named, and that it cannot flush each write", "nats", () =>
  over(startNats(), async ({ url, monitors }) => {
    const { code, wrong } = await examined("--store", url, "--nats-monitor", monitors.join(","));
    expect(code).toBe(1);
    expect(wrong).toEqual([
      expect.stringMatching(
        /is 2\.9\.\d+: several concurrent writers of a replicated bucket can all succeed/,
      ),
      expect.stringContaining("acknowledges writes before they are on disk"),
    ]);
  }),
);

engine("a newer nats-server is in order once it flushes each write", "newer nats", async () => {
  await over(startNats({ release: "newer" }), async ({ url, monitors }) => {
    const { wrong } = await examined("--store", url, "--nats-monitor", monitors.join(","));
    expect(wrong).toEqual([expect.stringContaining("acknowledges writes before they are on disk")]);
    const untold = await examined("--store", url, "--nats-monitor", "http://127.0.0.1:1");
    expect(untold).toMatchObject({ wrong: [] });
    expect(untold.all).toContain("does not report whether it flushes each write");
  });
  const jetStream = "sync_interval: always";
  await over(startNats({ release: "newer", jetStream }), async ({ url, monitors }) => {
    const report = await examined("--store", url, "--nats-monitor", monitors.join(","));
    expect(report).toMatchObject({ wrong: [] });
    expect(report.all).toContain("flushes every write to disk before acknowledging it");
  });
});

engine("PostgreSQL without fsync, and with a standby that may lag, is found", "postgres", async () => {
  const settings = { fsync: "off", synchronous_commit: "off" };
  await over(startPostgres({ settings, standbys: 1 }), async ({ url, nodes }) => {
    const { code, wrong, all } = await examined("--store", url);
    expect(code).toBe(1);
    expect(wrong).toEqual([
      expect.stringContaining("fsync is off"),
      expect.stringContaining("1 standbys follow, none synchronously"),
      // The standby has the same configuration.
      expect.stringContaining("fsync is off"),
    ]);
    expect(all).toContain("synchronous_commit is off; Tenure's own writes wait for the disk anyway");
    await nodes[0]?.kill();
    expect((await examined("--store", url)).wrong).toContain(
      "postgres primary: 0 of the 2 servers in the URL accept writes",
    );
  });
});

engine("ZooKeeper as Debian has it is in order", "zookeeper", () =>
  over(startZookeeper(), async ({ url }) => {
    const { wrong, all } = await examined("--store", url);
    expect(wrong).toEqual([]);
    expect(all).toMatch(/zookeeper 127\.0\.0\.1:\d+: is 3\.\d+\.\d+, standalone/);
  }),
);
