/** NATS servers, by what each sends to a new connection, and by its monitoring port, if it has one. Reads only. */
import { connect } from "node:net";
import { serverName } from "@tenure/stores";
import type { parseNatsUrl } from "@tenure/stores/nats";
import { probe } from "../../frame/http-probe.js";
import { type Finding, messageOf, note, ok, wrong } from "../finding.js";
import { checkCertificateFiles, isBefore, quorum, unreachable } from "./server-findings.js";

interface Info {
  readonly version: string;
  readonly jetstream?: boolean;
  readonly cluster?: string;
}

interface Varz {
  readonly jetstream?: { readonly config?: { readonly sync_always?: boolean } };
}

interface Stream {
  readonly name: string;
  readonly config?: { readonly num_replicas?: number };
}

interface Jsz {
  readonly account_details?: readonly { readonly stream_detail?: readonly Stream[] }[];
}

const MONITOR_PORT = 8222;
const INFO_LIMIT_MS = 3000;
/** Older servers have no setting that makes them flush each write. */
const CAN_SYNC = "2.10.0";
/** In older servers several concurrent writers of a replicated bucket can win. */
const COMPARES_LATE = "2.9.21";
const SYNC = "set sync_interval: always in the jetstream block of its configuration";

/** `monitors`: where the monitoring ports are, in the order of the servers; port 8222 of each unless given. */
export async function checkNats(
  options: ReturnType<typeof parseNatsUrl>,
  monitors: readonly string[] | null,
  nowMs: number,
): Promise<Finding[]> {
  const { ca, cert } = typeof options.tls === "object" ? options.tls : {};
  const files = checkCertificateFiles("NATS", [ca, cert], nowMs);
  const servers = await Promise.all(
    options.servers.map((server, index) => {
      const monitor = monitors?.[index] ?? `http://${serverName({ ...server, port: MONITOR_PORT })}`;
      return checkServer(serverName(server), monitor.replace(/\/$/, ""), options.bucket);
    }),
  );
  const serving = servers.filter(({ isServing }) => isServing).length;
  const count = servers.length;
  const says = `${serving} of the ${count} servers in the URL respond`;
  const advice = "run three, with replicas=3 in the URL";
  return [
    ...files,
    ...servers.flatMap(({ findings }) => findings),
    quorum("nats", { serving, count }, says, advice),
  ];
}

async function checkServer(
  server: string,
  monitor: string,
  bucket: string,
): Promise<{ isServing: boolean; findings: Finding[] }> {
  const about = `nats ${server}`;
  let info: Info;
  try {
    info = await readInfo(server);
  } catch (error) {
    return { isServing: false, findings: [unreachable(about, error)] };
  }
  const findings = [version(about, info)];
  if (info.jetstream !== true)
    findings.push(wrong(about, "has no JetStream", "enable jetstream in its configuration"));
  try {
    findings.push(
      await syncing(about, info.version, monitor),
      ...(await replicas(about, info, monitor, bucket)),
    );
  } catch (error) {
    const advice = `check that ${SYNC.replace("set ", "it has ")}, or name its monitoring URL with --nats-monitor`;
    findings.push(
      note(about, `does not report whether it flushes each write (${monitor}: ${messageOf(error)})`, advice),
    );
  }
  return { isServing: true, findings };
}

function version(about: string, { version: text }: Info): Finding {
  if (!isBefore(text, COMPARES_LATE)) return ok(about, `is ${text}`);
  const says = `is ${text}: several concurrent writers of a replicated bucket can all succeed, so Tenure refuses replicated buckets there`;
  return wrong(about, says, "upgrade it, to 2.10 or newer");
}

async function syncing(about: string, version_: string, monitor: string): Promise<Finding> {
  const { text } = await probe(`${monitor}/varz`);
  const { jetstream } = JSON.parse(text) as Varz;
  if (jetstream?.config?.sync_always === true)
    return ok(about, "flushes every write to disk before acknowledging it");
  const says =
    "acknowledges writes before they are on disk: a power failure can undo a term that was granted";
  return wrong(
    about,
    says,
    isBefore(version_, CAN_SYNC) ? `upgrade it to 2.10 or newer, then ${SYNC}` : SYNC,
  );
}

async function replicas(about: string, info: Info, monitor: string, bucket: string): Promise<Finding[]> {
  const { text } = await probe(`${monitor}/jsz?accounts=1&streams=1&config=1`);
  const { account_details: accounts = [] } = JSON.parse(text) as Jsz;
  const stream = accounts
    .flatMap(({ stream_detail = [] }) => stream_detail)
    .find(({ name }) => name === `KV_${bucket}`);
  if (stream === undefined || info.cluster === undefined) return [];
  const count = stream.config?.num_replicas ?? 1;
  if (count > 1) return [ok(about, `the bucket ${bucket} has ${count} replicas`)];
  const says = `the bucket ${bucket} has one replica, in a cluster`;
  return [
    wrong(
      about,
      says,
      `run nats stream update KV_${bucket} --replicas 3; if its only server fails, every term is lost`,
    ),
  ];
}

/** The first line that a server sends, before any login. */
function readInfo(server: string): Promise<Info> {
  const [, host = "", port = "4222"] = /^(.*?)(?::(\d+))?$/.exec(server) ?? [];
  return new Promise((resolve, reject) => {
    const socket = connect({ host: host.replaceAll(/[[\]]/g, ""), port: Number(port) });
    let text = "";
    socket.setEncoding("utf8").setTimeout(INFO_LIMIT_MS, () => socket.destroy(new Error("no response")));
    socket.on("data", (chunk: string) => {
      text += chunk;
      const line = /^INFO (\{.*\})\s*\r\n/s.exec(text)?.[1];
      if (line === undefined) return;
      resolve(JSON.parse(line) as Info);
      socket.destroy();
    });
    socket
      .on("error", reject)
      .once("close", () => reject(new Error("it closed the connection without a response")));
  });
}
