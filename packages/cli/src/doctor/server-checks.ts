/** One server of the service: whether it answers, its store, its certificate, what it has counted. */
import { probe } from "../frame/http-probe.js";
import { checkCertificateFile, checkValidity } from "./certificate-checks.js";
import { type Finding, messageOf, note, ok, wrong } from "./finding.js";
import type { ServerOf } from "./subject.js";

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
    const advice = "see that tenure serve runs there and can be reached from here; look at its log";
    return [wrong(about, `does not answer: ${messageOf(error)}`, advice)];
  }
  return [...findings, ...(await checkMetrics(server))];
}

export function checkAccessFiles({ access }: ServerOf, nowMs: number): Finding[] {
  const { certFile, caFile } = access;
  return [
    ...(certFile === undefined ? [] : checkCertificateFile("our certificate", certFile, nowMs)),
    ...(caFile === undefined ? [] : checkCertificateFile("trusted certificate", caFile, nowMs)),
  ];
}

function readiness(about: string, status: number): Finding {
  if (status === 200) return ok(about, "answers, and its store has a quorum");
  if (status === 503) {
    const advice =
      "bring a majority of the store's servers back; until then nobody is elected and no lease renewed";
    return wrong(about, "answers, but its store does not: there is no quorum", advice);
  }
  return wrong(about, `answers ${status} to /readyz`, "see that --server names a Tenure service");
}

async function checkMetrics({ url, access }: ServerOf): Promise<Finding[]> {
  const about = `server ${url}`;
  try {
    const { status, text } = await probe(`${url}/metrics`, access);
    if (status === 401 || status === 403) {
      return [note(about, "does not show its metrics to us", "use an admin's credentials")];
    }
    const findings: Finding[] = [];
    const splitBrains = sumOf(text, "split_brain_detected_total");
    if (splitBrains > 0) {
      const advice =
        "the store has lost or repeated writes: stop relying on it, and look at its own log first";
      findings.push(wrong(about, `has seen ${splitBrains} split brains in its store`, advice));
    }
    const down = sumOf(text, "renew_failures_total", 'reason="BACKEND_DOWN"');
    if (down > 0)
      findings.push(note(about, `could not renew ${down} leases for want of its store, since it started`));
    return findings;
  } catch (error) {
    return [note(about, `does not show its metrics: ${messageOf(error)}`)];
  }
}

/** Of all series of a metric, or of those that bear a label. */
export function sumOf(metrics: string, name: string, label = ""): number {
  return metrics
    .split("\n")
    .filter((line) => (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
