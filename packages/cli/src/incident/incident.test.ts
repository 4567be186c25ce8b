/**
 * An incident with real processes: a leader crashes, a group flaps, an operator pauses a group, a certificate nears its end, and the
 * store becomes slow. The attention list, the metrics, the alert rules in a real Prometheus, and doctor name each of them, and nothing
 * before and nothing after. `npm run chaos` checks that list, metrics and alerts name each within five seconds, and that doctor prints
 * all of them within five seconds of its start.
 */
import type { ChildProcess } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { shapes } from "@tenure/api";
import { Election, openElector } from "@tenure/client";
import { BackendUnavailableError, type ElectorAdmin, type Member } from "@tenure/core";
import { FaultProxy, isChaos, isMissing, startEtcd } from "@tenure/engines";
import { afterAll, expect, it } from "vitest";
import { besideDisk } from "../disk-stalls.test-kit.js";
import { certificate } from "../doctor/certificate.test-kit.js";
import type { Finding } from "../doctor/finding.js";
import { until } from "../engines/until.test-kit.js";
import { command, jsonOf } from "../frame/command.test-kit.js";
import { probe } from "../frame/http-probe.js";
import { Scratch } from "../scratch.test-kit.js";
import { Prometheus } from "./prometheus.test-kit.js";

const scratch = new Scratch();
afterAll(() => scratch.close());

const LISTED_MS = 5000;
/** Guards against hanging only. */
const NAMED_MS = 120_000;
/** A lease that the slowed store can still keep. */
const TTL_MS = 9000;
/** From the crash of a leader to the finding: a third of the lease is left, or it is over and two seconds have passed. */
const OVERDUE_MS = (TTL_MS * 2) / 3;
const VACANT_MS = TTL_MS * 1.01 + 2000;
/** More than the bound of a slow write, less than the limit of a write for this ttl. */
const SLOW_MS = 400;

class Scene {
  readonly url: string;
  readonly #caFile: string;
  readonly #prometheus: Prometheus;

  constructor(url: string, caFile: string, prometheus: Prometheus) {
    this.url = url;
    this.#caFile = caFile;
    this.#prometheus = prometheus;
  }

  get server(): readonly string[] {
    return ["--server", this.url, "--ca", this.#caFile];
  }

  async attention(): Promise<readonly shapes.FindingShape[]> {
    const { text } = await probe(`${this.url}/v1/attention`, { caFile: this.#caFile, timeoutMs: 10_000 });
    return (JSON.parse(text) as shapes.AttentionReply).findings;
  }

  /** Resolves with the finding once the list and the metric name it, and the alert fires. */
  async named(kind: string, groupId: string | null, alert: string): Promise<shapes.FindingShape> {
    const found: shapes.FindingShape[] = [];
    await until(NAMED_MS, `${kind} in the attention list`, async () => {
      found.push(
        ...(await this.attention()).filter((each) => each.kind === kind && each.group_id === groupId),
      );
      return found.length > 0;
    });
    const counted = `sum(tenure_attention{kind="${kind}"})`;
    await until(NAMED_MS, counted, async () => (await this.#prometheus.value(counted)) > 0);
    await until(NAMED_MS, alert, async () => (await this.alerts()).includes(alert));
    return found[0] as shapes.FindingShape;
  }

  alerts(): Promise<string[]> {
    return this.#prometheus.alerts();
  }

  /** As `named`, and in chaos within five seconds of when it could be known. */
  async namedInTime(knownAfterMs: number, naming: () => Promise<shapes.FindingShape>): Promise<string> {
    const startMs = performance.now();
    const [found, stalledMs] = await besideDisk(naming);
    const lateMs = performance.now() - startMs - knownAfterMs;
    if (isChaos) expect(lateMs, found.summary).toBeLessThan(LISTED_MS + stalledMs);
    return found.summary;
  }

  async doctor(): Promise<readonly string[]> {
    const { findings } = jsonOf<{ findings: readonly Finding[] }>(
      await command(["doctor", "--json", ...this.server]),
    );
    // The CA file holds both certificates from the start.
    return findings
      .filter(({ kind, about }) => kind !== undefined && !about.startsWith("CA certificate"))
      .map(({ kind, about }) => `${kind ?? ""} ${about}`)
      .toSorted();
  }

  /** Doctor prints a line for each of these, in chaos within five seconds of its start, before it measures the service. */
  async doctorNames(...lines: readonly RegExp[]): Promise<void> {
    const startMs = performance.now();
    let namedMs = Number.POSITIVE_INFINITY;
    const onOutput = (text: string): void => {
      if (lines.every((line) => line.test(text))) namedMs = Math.min(namedMs, performance.now() - startMs);
    };
    const [{ stdout }, stalledMs] = await besideDisk(() => command(["doctor", ...this.server], { onOutput }));
    for (const line of lines) expect(stdout).toMatch(line);
    if (isChaos) expect(namedMs).toBeLessThan(LISTED_MS + stalledMs);
  }

  run(groupId: string, nodeId: string): ChildProcess {
    const options = ["--node-id", nodeId, "--ttl", `${TTL_MS}ms`, ...this.server];
    return scratch.start(["run", groupId, ...options, "--", "sleep", "600"]);
  }
}

/** None while the slowed store makes the service refuse the request. */
async function membersOf(elector: ElectorAdmin, groupId: string): Promise<readonly Member[]> {
  try {
    return await elector.members(groupId);
  } catch (error) {
    if (error instanceof BackendUnavailableError) return [];
    throw error;
  }
}

/** Two candidates for a group in this process; the first leads. */
async function participate(elector: ElectorAdmin, groupId: string): Promise<readonly Election[]> {
  const elections: Election[] = [];
  for (const nodeId of ["a", "b"]) {
    const election = new Election(elector, { groupId, nodeId, ttlMs: TTL_MS });
    await election.start();
    elections.push(election);
    await until(NAMED_MS, `${nodeId} in ${groupId}`, async () =>
      (await membersOf(elector, groupId)).some((member) => member.nodeId === nodeId),
    );
  }
  return elections;
}

it.skipIf(isMissing("etcd") || isMissing("prometheus"))(
  "an incident is named by the attention list, metrics, alerts and doctor, and nothing is named before it",
  async () => {
    const directory = scratch.directory();
    const good = certificate(scratch.directory(), -1, 364, "good");
    const ending = certificate(scratch.directory(), -360, 5, "ending");
    const [cert, key, caFile] = ["cert.pem", "key.pem", "ca.pem"].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    const use = (pair: typeof good): void => {
      copyFileSync(pair.cert, cert);
      copyFileSync(pair.key, key);
    };
    use(good);
    writeFileSync(caFile, readFileSync(good.cert, "utf8") + readFileSync(ending.cert, "utf8"));
    await using etcd = await startEtcd();
    const [host = "", port] = (etcd.endpoints[0] ?? "").split(":");
    await using proxy = await FaultProxy.open({ host, port: Number(port) });
    const { url } = await scratch.serve([
      ...["--listen", "127.0.0.1:0", "--log-level", "error", "--tls-cert", cert, "--tls-key", key],
      ...["--store", `etcd://127.0.0.1:${proxy.port}/incident`],
    ]);
    await using prometheus = await Prometheus.start(directory, new URL(url), caFile);
    const scene = new Scene(url, caFile, prometheus);
    await using elector = await openElector(url, { tls: { caFile } });
    const elections = await participate(elector, "billing");
    const nodes = ["c1", "c2"].map((nodeId) => scene.run("reports", nodeId));
    await until(NAMED_MS, "two members", async () => (await membersOf(elector, "reports")).length === 2);
    const led = 'tenure_groups{state="led"}';
    await until(NAMED_MS, led, async () => (await prometheus.value(led)) === 2);

    // A busy machine may have a slow disk: that is no mistake of the monitor.
    const isSlow = (text: string): boolean => /^(?:store_slow|TenureStoreSlow)/.test(text);
    const before = [
      ...(await scene.attention()).map(({ kind }) => kind),
      ...(await scene.alerts()),
      ...(await scene.doctor()),
    ];
    expect(before.filter((text) => !isSlow(text))).toEqual([]);

    for (const node of nodes) node.kill("SIGKILL");
    await scene.namedInTime(OVERDUE_MS + TTL_MS / 3, () =>
      scene.named("missed_heartbeats", "reports", "TenureMissedHeartbeats reports"),
    );
    const vacant = await scene.namedInTime(VACANT_MS - OVERDUE_MS, () =>
      scene.named("vacant", "reports", "TenureGroupVacant reports"),
    );
    expect(vacant).toMatch(
      /^has had no leader for .*: the lease of c[12] expired, and no candidate has taken over$/,
    );

    // Never renewed: each candidate waits for the previous lease to expire.
    for (let turn = 0; turn < 8; turn++) {
      const nodeId = `f${turn % 2}`;
      await elector.campaign({ groupId: "flaps", nodeId, ttlMs: 500, waitMs: 30_000 });
    }
    const flapping = await scene.namedInTime(0, () =>
      scene.named("flapping", "flaps", "TenureGroupFlapping flaps"),
    );
    expect(flapping).toMatch(
      /^is flapping: its last [78] changes of leader took [\d.]+s \(\d{3,} per hour\)/,
    );

    await scene.doctorNames(/group flaps: is flapping/, /group reports: has had no leader/);

    await command(["pause", "billing", "--reason", "migration of the database", ...scene.server]);
    const paused = await scene.namedInTime(0, () =>
      scene.named("paused_long", "billing", "TenureGroupsPaused"),
    );
    expect(paused).toMatch(/^is paused until resumed, for .* now, by .+ \(migration of the database\); /);

    use(ending);
    const expiring = await scene.namedInTime(0, () =>
      scene.named("certificate_expiring", null, "TenureCertificateExpiring"),
    );
    expect(expiring).toBe("the TLS certificate of this server expires in 4d23h");

    proxy.delayAnswers(SLOW_MS);
    const slow = await scene.namedInTime(TTL_MS, () => scene.named("store_slow", null, "TenureStoreSlow"));
    expect(slow).toMatch(/^the store is slow: of \d+ writes/);

    await scene.doctorNames(
      /certificate of https:\S+: expires in/,
      /group billing: is paused until resumed/,
      /the store is slow/,
      /group reports: has had no leader/,
    );

    proxy.delayAnswers(0);
    await etcd.nodes[0]?.pause();
    await scene.namedInTime(2000, () => scene.named("store_unreachable", null, "TenureStoreUnreachable"));
    etcd.nodes[0]?.resume();

    use(good);
    await command(["resume", "billing", ...scene.server]);
    for (const groupId of ["reports", "flaps"])
      await command(["groups", "delete", groupId, "--force", ...scene.server]);
    const names = async () => [
      ...(await scene.attention()).map(({ kind }) => kind),
      ...(await scene.alerts()),
    ];
    // The writes of the last minute make the store slow.
    const rest = /^(?:store_slow|TenureStoreSlow)$/;
    await until(NAMED_MS, "nothing is named any more", async () =>
      (await names()).every((name) => rest.test(name)),
    );
    await Promise.all(elections.map((election) => election.stop()));
  },
);
