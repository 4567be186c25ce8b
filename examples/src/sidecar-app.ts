/**
 * The application beside a sidecar, such as in a Kubernetes pod: `tenure run` holds the lease, and the application asks it on
 * localhost before each act. The application can be written in any language and needs no library.
 *
 *     tenure run sidecar-app --node-id a --http 127.0.0.1:4040 -- sleep infinity
 *     node examples/dist/fenced-resource.js 8081
 *     RESOURCE=http://127.0.0.1:8081 node examples/dist/sidecar-app.js a
 *
 * An answer of `/leader` counts for ANSWER_MS from the moment before the question: `tenure run` stops naming itself the leader a
 * fifth of the ttl before its lease ends, so keep ANSWER_MS at a tenth of the ttl or below. No answer means no. The
 * application sends the term with each act, because only the term stops an act that is late all the same.
 *
 * examples/kubernetes/sidecar.yaml is the manifest. If only one pod at a time should receive traffic, the readiness probe of
 * the pod can ask `/leader`, and the application needs no code at all.
 */
import { setTimeout as wait } from "node:timers/promises";

const GROUP = "sidecar-app";
const ANSWER_MS = 500;

const [nodeId = process.env["HOSTNAME"] ?? "app"] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);
const sidecar = process.env["SIDECAR"] ?? "http://127.0.0.1:4040";
const resource = `${process.env["RESOURCE"] ?? "http://127.0.0.1:8081"}/${GROUP}/${nodeId}`;

/** The term in which this node leads; `null` if it does not, or if that is unknown. */
async function termOfLeader(signal: AbortSignal): Promise<number | null> {
  try {
    const response = await fetch(`${sidecar}/leader`, { signal });
    const { term } = (await response.json()) as { readonly term: number };
    return response.ok ? term : null;
  } catch {
    return null;
  }
}

async function act(term: number, signal: AbortSignal): Promise<void> {
  const headers = { "Tenure-Group": GROUP, "Tenure-Term": String(term) };
  try {
    const response = await fetch(resource, { method: "POST", headers, signal });
    await response.arrayBuffer();
    if (!response.ok) say(`was refused in term ${term}: ${response.status}`);
  } catch (error) {
    say(`failed: ${String(error)}`);
  }
}

let isStopping = false;
const stop = () => {
  isStopping = true;
};
process.once("SIGTERM", stop).once("SIGINT", stop);
let ledTerm: number | null = null;
while (!isStopping) {
  // One limit for the question and the act together, counted from before the question.
  const signal = AbortSignal.timeout(ANSWER_MS);
  const term = await termOfLeader(signal);
  if (term !== null && term !== ledTerm) say(`leads in term ${term}`);
  if (term === null && ledTerm !== null) say("no longer leads");
  ledTerm = term;
  if (term !== null && !signal.aborted) await act(term, signal);
  await wait(100);
}
say("has stopped");
