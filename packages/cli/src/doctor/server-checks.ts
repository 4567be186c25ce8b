/** Checks one server of the service: whether it answers, its store, its certificate and its metrics. */
import type { Access } from "../frame/connection.js";
import { probe } from "../frame/http-probe.js";
import { checkCertificateFile, checkValidity } from "./certificate-checks.js";
import { type Finding, messageOf, note, ok, wrong } from "./finding.js";

/** One server of the service, and the credentials to use. */
export interface ServerOf {
  /** Without a slash at its end. */
  readonly url: string;
  readonly access: Access;
}

export async function checkServer(server: ServerOf, nowMs: number): Promise<Finding[]> {
  const { url, access } = server;
  const about = `server ${url}`;
  let findings: Finding[];
  try {
    const ready = await probe(`${url}/readyz`, { ...access, timeoutMs: 6000 });
    findings = [readiness(about, ready.status)];
    if (ready.certificate !== null) {
      const { valid_from, valid_to } = ready.certificate;
      const validity = { fromMs: Date.parse(valid_from), untilMs: Date.parse(valid_to) };
      findings.push(checkValidity(`certificate of ${url}`, validity, nowMs));
    }
  } catch (error) {
    const advice = "check that tenure serve runs there and can be reached from here; read its log";
    return [wrong(about, `does not respond: ${messageOf(error)}`, advice)];
  }
  return [...findings, ...(await checkMetrics(server))];
}

export function checkAccessFiles({ access }: ServerOf, nowMs: number): Finding[] {
  const { certFile, caFile } = access;
  return [
    ...(certFile === undefined ? [] : checkCertificateFile("client certificate", certFile, nowMs)),
    ...(caFile === undefined ? [] : checkCertificateFile("CA certificate", caFile, nowMs)),
  ];
}

function readiness(about: string, status: number): Finding {
  if (status === 200) return ok(about, "responds, and its store has a quorum");
  if (status === 503) {
    const advice =
      "restart a majority of the store's servers; until then there are no elections and no renewals";
    return wrong(about, "responds, but its store has no quorum", advice);
  }
  return wrong(about, `returns ${status} for /readyz`, "check that --server names a Tenure service");
}

async function checkMetrics({ url, access }: ServerOf): Promise<Finding[]> {
  const about = `server ${url}`;
  try {
    const { status, text } = await probe(`${url}/metrics`, access);
    if (status === 401 || status === 403) {
      return [
        note(about, "does not allow these credentials to read its metrics", "use an admin's credentials"),
      ];
    }
    const findings: Finding[] = [];
    const splitBrains = sumOf(text, "split_brain_detected_total");
    if (splitBrains > 0) {
      const advice = "the store has lost or repeated writes: stop using it, and read its log";
      findings.push(wrong(about, `counted ${splitBrains} split brains in its store`, advice));
    }
    const down = sumOf(text, "renew_failures_total", 'reason="BACKEND_DOWN"');
    if (down > 0)
      findings.push(
        note(about, `failed to renew ${down} leases since it started, because its store was unavailable`),
      );
    return findings;
  } catch (error) {
    return [note(about, `metrics cannot be read: ${messageOf(error)}`)];
  }
}

/** The sum of all series of a metric, or of those with a label. */
export function sumOf(metrics: string, name: string, label = ""): number {
  return metrics
    .split("\n")
    .filter((line) => (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
