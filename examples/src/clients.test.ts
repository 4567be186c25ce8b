/**
 * Clients without our library: Python, gRPC, bash, and an application beside a sidecar. Each is frozen, killed and
 * disconnected while it leads. A fenced resource lists all acts in the order of their arrival.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { FaultProxy, findCommand, freePorts, isMissing } from "@tenure/engines";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { cleanUp, type Environment, pathOf, Program, serve } from "./examples.test-kit.js";

interface Act {
  readonly status: number;
  readonly nodeId: string;
  readonly term: number;
}

/** What a client uses: the service over HTTP and gRPC, and the resource. */
interface Ports {
  readonly http: number;
  readonly grpc: number;
  readonly resource: number;
}

type Start = (nodeId: string, ports: Ports) => Promise<readonly Program[]>;

const local = (port: number) => `http://127.0.0.1:${port}`;
const environment = ({ http, grpc, resource }: Ports): Environment => ({
  TENURE_SERVER: local(http),
  TENURE_GRPC: `127.0.0.1:${grpc}`,
  RESOURCE: local(resource),
});

const CLIENTS: Readonly<Record<string, Start>> = {
  "python-worker": (nodeId, ports) =>
    Promise.resolve([new Program("examples/python/worker.py", [nodeId], environment(ports))]),
  "grpc-worker": (nodeId, ports) =>
    Promise.resolve([new Program("examples/dist/grpc-worker.js", [nodeId], environment(ports))]),
  "bash-worker": (nodeId, ports) => {
    const env = { ...environment(ports), NODE_ID: nodeId };
    const post = `curl --silent --output /dev/null --max-time 30 --request POST --header "Tenure-Group: $TENURE_GROUP" \
      --header "Tenure-Term: $TENURE_TERM" "$RESOURCE/$TENURE_GROUP/$NODE_ID"`;
    const work = `while :; do ${post}; sleep 0.1; done`;
    return Promise.resolve([
      new Program("examples/bash/with-lease.sh", ["bash-worker", "bash", "-c", work], env),
    ]);
  },
  "sidecar-app": async (nodeId, ports) => {
    const [port = 0] = await freePorts(1);
    const env = environment(ports);
    const args = sidecarArguments().map((word) => word.replace("127.0.0.1:4040", `127.0.0.1:${port}`));
    const sidecar = new Program("packages/cli/bin/tenure.js", args, { ...env, TENURE_NODE_ID: nodeId });
    const app = new Program("examples/dist/sidecar-app.js", [nodeId], { ...env, SIDECAR: local(port) });
    return [app, sidecar];
  },
};

let directory: string;
let resource: Program;
let direct: Ports;
const proxies: FaultProxy[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tenure-examples-"));
  const [grpc = 0] = await freePorts(1);
  resource = new Program("examples/dist/fenced-resource.js", [], {
    TERMS_DIRECTORY: join(directory, "terms"),
  });
  const urls = await Promise.all([serve(["--grpc", `127.0.0.1:${grpc}`]), resource.said(/listens on (\S+)/)]);
  const [http, resourcePort] = urls.map((url) => Number(new URL(url).port));
  direct = { http: http as number, grpc, resource: resourcePort as number };
});
afterAll(async () => {
  await cleanUp();
  await Promise.all(proxies.map((proxy) => proxy.close()));
  rmSync(directory, { recursive: true, force: true });
});

async function proxyTo(port: number): Promise<FaultProxy> {
  const proxy = await FaultProxy.open({ host: "127.0.0.1", port });
  proxies.push(proxy);
  return proxy;
}

function actsOf(group: string, lines: readonly string[] = resource.lines): readonly Act[] {
  return lines.flatMap((line) => {
    const [, status, of, nodeId = "", term] = /^(\d+) \/([^/]+)\/(\w+) term (\d+)$/.exec(line) ?? [];
    return of === group ? [{ status: Number(status), nodeId, term: Number(term) }] : [];
  });
}

/** The command of the sidecar in the manifest, without `tenure`. */
function sidecarArguments(): readonly string[] {
  const documents = readFileSync(pathOf("examples/kubernetes/sidecar.yaml"), "utf8").split(/^---$/m);
  const { spec } = parse(documents.at(-1) ?? "") as {
    readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
  };
  const sidecar = spec.template.spec.containers.find(({ name }) => name === "tenure");
  const [command, ...args] = sidecar?.command ?? [];
  expect(command).toBe("tenure");
  return args;
}

interface Container {
  readonly name: string;
  readonly command?: readonly string[];
}

const needs = { "python-worker": "python", "bash-worker": "curl" } as const;
const available = Object.keys(CLIENTS).filter(
  (group) => !isMissing(needs[group as keyof typeof needs] ?? "curl"),
);

test.concurrent.each(available)(
  "%s: no two nodes act at the same time, and a late act is refused",
  async (group) => {
    const start = CLIENTS[group] as Start;
    const actBy = (nodeId: string, after: number, status = 200) =>
      resource.until((lines) =>
        actsOf(group, lines).find(
          (act) => act.nodeId === nodeId && act.term > after && act.status === status,
        ),
      );
    const actsBy = (nodeId: string, count: number) => {
      const before = actsOf(group).filter((act) => act.nodeId === nodeId).length;
      return resource.until((lines) => {
        const acts = actsOf(group, lines).filter((act) => act.nodeId === nodeId);
        return acts.length >= before + count ? acts : null;
      });
    };

    const [toHttp, toGrpc, toResource] = await Promise.all(
      [direct.http, direct.grpc, direct.resource].map(proxyTo),
    );
    if (toHttp === undefined || toGrpc === undefined || toResource === undefined)
      throw new Error("no proxies");
    const a = await start("a", { http: toHttp.port, grpc: toGrpc.port, resource: toResource.port });
    const first = await actBy("a", 0);
    const b = await start("b", direct);

    // Frozen while a request is on its way. The request arrives after those of the next leader.
    await toResource.holdRequests();
    await Promise.all(a.map((program) => program.pause()));
    const second = await actBy("b", first.term);
    toResource.release();
    const late = await actBy("a", 0, 409);
    expect(late.term).toBe(first.term);
    // What still ran of it would act now.
    await actsBy("b", 10);
    for (const program of a) program.resume();

    // Killed.
    await Promise.all(b.map((program) => program.end("SIGKILL")));
    const third = await actBy("a", second.term);

    // Disconnected from the service only. The answer to the last renewal that the service got was late.
    const c = await start("c", direct);
    for (const proxy of [toHttp, toGrpc]) proxy.delayAnswers(1000);
    // On a busy machine the delay may already cost the lease. Then the rest holds all the same.
    await Promise.race([actsBy("a", 25), actBy("c", third.term)]);
    for (const proxy of [toHttp, toGrpc]) void proxy.holdRequests();
    const fourth = await actBy("c", third.term);
    await actsBy("c", 15);

    // Ended: the lease is released, and no node waits for it to expire.
    for (const program of c) await program.end("SIGTERM");
    const history = await fetch(`${local(direct.http)}/v1/groups/${group}/history`);
    const { events } = (await history.json()) as { readonly events: readonly object[] };
    expect(events.at(-1)).toMatchObject({ type: "LEADER_LOST", term: fourth.term, reason: "resigned" });
    await Promise.all(a.map((program) => program.end("SIGKILL")));

    const acts = actsOf(group);
    const admitted = acts
      .filter(({ status }) => status === 200)
      .map(({ nodeId, term }) => `${nodeId} ${term}`);
    const leaders = [first, second, third, fourth].map(({ nodeId, term }) => `${nodeId} ${term}`);
    // Each leader acts, then the next one; nothing between, and nothing after.
    expect(admitted.filter((act, index) => act !== admitted[index - 1])).toEqual(leaders);
    // Nothing was refused but what was sent before the freeze: one act, or two if the first one timed out before.
    const refused = acts.filter(({ status }) => status !== 200);
    expect(refused).toEqual(refused.map(() => late));
    expect(refused.length).toBeLessThanOrEqual(2);
  },
);

test.skipIf(isMissing("shellcheck"))("with-lease.sh has no findings of shellcheck", () => {
  const file = pathOf("examples/bash/with-lease.sh");
  expect(execFileSync(findCommand("shellcheck") ?? "shellcheck", [file], { encoding: "utf8" })).toBe("");
});
