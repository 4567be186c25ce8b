/** An etcd cluster, by the JSON gateway and the metrics that every member has. Reads only. */
import { serverName, type TlsFiles } from "@tenure/stores";
import type { parseEtcdUrl } from "@tenure/stores/etcd";
import { tellDuration } from "../../frame/duration.js";
import { probe, type ProbeOptions } from "../../frame/http-probe.js";
import { checkValidity } from "../certificate-checks.js";
import { type Finding, ok, wrong } from "../finding.js";
import { checkCertificateFiles, isBefore, quorum, tooOld, unreachable } from "./server-findings.js";

interface Status {
  readonly version: string;
  readonly dbSize?: string;
  readonly leader?: string;
  readonly header: { readonly revision?: string };
  readonly errors?: readonly string[];
}

const OLDEST = "3.4.0";
/** Members of these versions can lose data or differ after a crash under load; the etcd project has withdrawn them. */
const WITHDRAWN = { from: "3.5.0", before: "3.5.3" };
const FULL_SHARE = 0.5;
/** A cluster with this many revisions that was never compacted has no automatic compaction. */
const MANY_REVISIONS = 1000;
const SLOW_FSYNC_SECONDS = 0.25;
const COMPACTION =
  "run its members with --auto-compaction-mode=periodic --auto-compaction-retention=10m; Tenure never compacts, because that affects all users of the cluster";

type EtcdUrl = ReturnType<typeof parseEtcdUrl>;

export async function checkEtcd(options: EtcdUrl, nowMs: number): Promise<Finding[]> {
  const { ca, cert } = filesOf(options);
  const files = checkCertificateFiles("etcd", [ca, cert], nowMs);
  const members = await Promise.all(
    options.servers.map((server) => checkMember(serverName(server), options, nowMs)),
  );
  const serving = members.filter(({ isServing }) => isServing).length;
  const count = members.length;
  const says = `${serving} of the ${count} members in the URL respond and have a leader`;
  const advice = "run three or five, and name all of them in the URL";
  return [
    ...files,
    ...members.flatMap(({ findings }) => findings),
    quorum("etcd", { serving, count }, says, advice),
  ];
}

async function checkMember(
  endpoint: string,
  options: EtcdUrl,
  nowMs: number,
): Promise<{ isServing: boolean; findings: Finding[] }> {
  const member = new Member(endpoint, options);
  const about = `etcd ${endpoint}`;
  try {
    await member.login();
    const { status, certificate } = await member.status();
    const findings: Finding[] = [version(about, status.version)];
    if (certificate !== null) findings.push(checkValidity(`certificate of ${about}`, certificate, nowMs));
    const hasLeader = (status.leader ?? "0") !== "0";
    if (!hasLeader)
      findings.push(
        wrong(about, "has no leader", "check that a majority of its cluster runs and is connected"),
      );
    findings.push(...alarms(about, status), ...(await member.space(about, status)));
    return { isServing: hasLeader, findings };
  } catch (error) {
    return { isServing: false, findings: [unreachable(about, error)] };
  }
}

function version(about: string, text: string): Finding {
  const old = tooOld(about, text, OLDEST);
  if (old !== undefined) return old;
  if (!isBefore(text, WITHDRAWN.from) && isBefore(text, WITHDRAWN.before)) {
    const says = `is ${text}, one of those that can corrupt their data after a crash`;
    return wrong(about, says, "upgrade to the newest 3.5 or later");
  }
  return ok(about, `is ${text}`);
}

/** The alarms in the status of the member: a request for alarms would need a quorum. */
function alarms(about: string, { errors = [] }: Status): Finding[] {
  const kinds = new Set(errors.flatMap((error) => /alarm:\s*([A-Z]+)/.exec(error)?.[1] ?? []));
  return [...kinds].map((kind) =>
    kind === "NOSPACE"
      ? wrong(
          about,
          "is full and refuses every write",
          `compact and defragment it, disarm the alarm (etcdctl alarm disarm), and ${COMPACTION}`,
        )
      : wrong(about, `raised the alarm ${kind}`, "see etcdctl alarm list and the etcd documentation first"),
  );
}

class Member {
  readonly #url: string;
  readonly #options: EtcdUrl;
  #token: string | null = null;

  constructor(endpoint: string, options: EtcdUrl) {
    this.#url = `${options.tls ? "https" : "http"}://${endpoint}`;
    this.#options = options;
  }

  async login(): Promise<void> {
    const { user, password } = this.#options;
    if (user === undefined || password === undefined) return;
    const { token } = await this.#ask<{ token?: string }>("auth/authenticate", { name: user, password });
    this.#token = token ?? null;
  }

  async status(): Promise<{ status: Status; certificate: { fromMs: number; untilMs: number } | null }> {
    const answer = await probe(`${this.#url}/v3/maintenance/status`, this.#request({}));
    if (answer.status !== 200)
      throw new Error(`its status request returned ${answer.status}: ${answer.text.slice(0, 200)}`);
    const { certificate } = answer;
    return {
      status: JSON.parse(answer.text) as Status,
      certificate:
        certificate === null
          ? null
          : { fromMs: Date.parse(certificate.valid_from), untilMs: Date.parse(certificate.valid_to) },
    };
  }

  /** How full the member is, whether it is compacted, and how fast its disk is. */
  async space(about: string, { dbSize = "0", header }: Status): Promise<Finding[]> {
    const metrics = await probe(`${this.#url}/metrics`, this.#request()).then(
      ({ text, status }) => (status === 200 ? text : ""),
      () => "",
    );
    const findings: Finding[] = [];
    const quota = Number(/^etcd_server_quota_backend_bytes (\S+)$/m.exec(metrics)?.[1] ?? 2 ** 31);
    const share = Number(dbSize) / quota;
    const filled = `its data is ${mebibytes(Number(dbSize))} of its quota of ${mebibytes(quota)}`;
    if (share >= FULL_SHARE) {
      findings.push(
        wrong(about, filled, `compact and defragment it, ${COMPACTION}, or raise --quota-backend-bytes`),
      );
    } else findings.push(ok(about, filled));
    const revision = Number(header.revision ?? 0);
    if (revision > MANY_REVISIONS && !(await this.#isCompacted())) {
      findings.push(
        wrong(about, `keeps all of its ${revision} revisions: it was never compacted`, COMPACTION),
      );
    }
    return [...findings, ...fsync(`disk of ${about}`, metrics)];
  }

  /** Revision 1 can be read only until the first compaction. */
  async #isCompacted(): Promise<boolean> {
    const body = { key: Buffer.from("tenure-doctor").toString("base64"), revision: "1", serializable: true };
    const { status } = await probe(`${this.#url}/v3/kv/range`, this.#request(body));
    return status !== 200;
  }

  async #ask<T>(path: string, body: object): Promise<T> {
    const { status, text } = await probe(`${this.#url}/v3/${path}`, this.#request(body));
    if (status !== 200) throw new Error(`${path} returned ${status}: ${text.slice(0, 200)}`);
    return JSON.parse(text) as T;
  }

  #request(body?: object): ProbeOptions {
    const { ca, cert, key } = filesOf(this.#options);
    return {
      ...(body === undefined ? {} : { method: "POST", body }),
      ...(this.#token === null ? {} : { headers: { authorization: this.#token } }),
      ...(ca === undefined ? {} : { caFile: ca }),
      ...(cert === undefined ? {} : { certFile: cert }),
      ...(key === undefined ? {} : { keyFile: key }),
    };
  }
}

function filesOf({ tls }: EtcdUrl): TlsFiles {
  return typeof tls === "object" ? tls : {};
}

/** The bucket that holds the 99th of a hundred flushes since it started. */
export function fsync(about: string, metrics: string): Finding[] {
  const name = "etcd_disk_wal_fsync_duration_seconds";
  const total = Number(new RegExp(`^${name}_count (\\S+)$`, "m").exec(metrics)?.[1] ?? 0);
  if (total === 0) return [];
  const buckets = [...metrics.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"\\} (\\S+)$`, "gm"))];
  const reached = buckets.find(([, , count]) => Number(count) >= 0.99 * total);
  const seconds = reached?.[1] === "+Inf" ? Number.POSITIVE_INFINITY : Number(reached?.[1]);
  const says = `99 % of its flushes to disk took less than ${tellDuration(seconds * 1000)}`;
  if (seconds <= SLOW_FSYNC_SECONDS) return [ok(about, says)];
  return [wrong(about, says, "use a fast dedicated disk; renewals wait for every flush")];
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(bytes < 2 ** 24 ? 1 : 0)} MiB`;
}
