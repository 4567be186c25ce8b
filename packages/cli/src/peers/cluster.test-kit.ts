/** A cluster of real `tenure serve --join` processes with their own certificates, and callers with any other. */
import { rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { sleep, systemClock } from "@tenure/core";
import { freePorts } from "@tenure/engines";
import { Authority, type Bundle, type CertificateKind, parseBundle } from "@tenure/peers/certificates";
import { until } from "../engines/until.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import type { ServerProcess } from "../server-process.test-kit.js";

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface AskOptions {
  readonly as?: Pick<Bundle, "cert" | "key"> | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface LeaderView {
  readonly leader_id: string | null;
  readonly leader_endpoint: string | null;
  readonly term: number;
  readonly peer: {
    readonly identity: string;
    readonly leading: boolean;
    readonly term: number;
    readonly disk: string;
    readonly config: {
      readonly cluster: string;
      readonly epoch: readonly number[];
      readonly members: Readonly<Record<string, { readonly endpoint: string; readonly disk: string }>>;
    } | null;
  };
}

export interface StartOptions {
  readonly join?: readonly string[];
  readonly args?: readonly string[];
}

const LOOK_MS = 80;

/** One server of the cluster, across its restarts. */
export class ClusterNode {
  readonly name: string;
  readonly endpoint: string;
  readonly bundleFile: string;
  readonly bundle: Bundle;
  readonly directory: string;
  readonly inside: readonly string[];
  process: ServerProcess | null = null;

  constructor(
    name: string,
    endpoint: string,
    directory: string,
    bundleFile: string,
    bundle: Bundle,
    inside: readonly string[],
  ) {
    this.name = name;
    this.endpoint = endpoint;
    this.directory = directory;
    this.bundleFile = bundleFile;
    this.bundle = bundle;
    this.inside = inside;
  }

  get identity(): string {
    return this.bundle.owner.name;
  }

  get log(): string {
    return this.process?.stderr ?? "";
  }
}

export interface ClusterOptions {
  readonly ttlMs?: number;
  readonly trustDomain?: string;
  /** The machine of each server, if not all are on loopback. */
  readonly places?: Readonly<Record<string, { readonly host: string; readonly inside: readonly string[] }>>;
}

export class TestCluster {
  readonly ttlMs: number;
  readonly scratch: Scratch = new Scratch();
  readonly directory: string = this.scratch.directory();
  readonly authority: Authority;
  readonly nodes: ClusterNode[] = [];
  readonly clerk: Bundle;
  readonly clerkFile: string;
  readonly #agents = new Map<string, Agent>();
  readonly #ca: string;

  private constructor(authority: Authority, clerk: Bundle, ttlMs: number) {
    this.authority = authority;
    this.clerk = clerk;
    this.clerkFile = this.#write("clerk", clerk);
    this.ttlMs = ttlMs;
    this.#ca = authority.certificatePem;
  }

  /** Their certificates and ports; none is running yet. */
  static async of(names: readonly string[], options: ClusterOptions = {}): Promise<TestCluster> {
    const { ttlMs = 2500, trustDomain = "tenure", places = {} } = options;
    const authority = await Authority.create({
      trustDomain,
      keyKind: "p256",
      days: 30,
      nowMs: systemClock.wallMs(),
    });
    const cluster = new TestCluster(authority, await bundleOf(authority, "tc", "clerk"), ttlMs);
    const ports = await freePorts(names.length);
    for (const [index, name] of names.entries()) {
      const bundle = await bundleOf(authority, "server", name);
      const bundleFile = cluster.#write(name, bundle);
      const { host = "127.0.0.1", inside = [] } = places[name] ?? {};
      const endpoint = `https://${host}:${ports[index]}`;
      cluster.nodes.push(
        new ClusterNode(name, endpoint, join(cluster.directory, name), bundleFile, bundle, inside),
      );
    }
    return cluster;
  }

  /** All started together, each with all as join targets; resolves when one leads and all know each other. */
  static async started(names: readonly string[], options: ClusterOptions = {}): Promise<TestCluster> {
    const cluster = await TestCluster.of(names, options);
    await Promise.all(cluster.nodes.map((node) => cluster.start(node)));
    await cluster.settled();
    return cluster;
  }

  node(index: number): ClusterNode {
    const node = this.nodes[index];
    if (node === undefined) throw new Error(`there is no node ${index}`);
    return node;
  }

  get endpoints(): readonly string[] {
    return this.nodes.map(({ endpoint }) => endpoint).toSorted();
  }

  get running(): readonly ClusterNode[] {
    return this.nodes.filter(({ process }) => process?.isRunning === true);
  }

  arguments(
    node: ClusterNode,
    { join: targets = this.endpoints, args = [] }: StartOptions = {},
  ): readonly string[] {
    const listen = new URL(node.endpoint).host;
    return [
      ...["--listen", listen, "--store", `embedded:${node.directory}`, "--bundle", node.bundleFile],
      ...["--join", targets.join(","), "--tc-ttl", String(this.ttlMs), "--log-level", "info", ...args],
    ];
  }

  async start(node: ClusterNode, options?: StartOptions): Promise<void> {
    node.process = await this.scratch.serve(this.arguments(node, options), {}, node.inside);
  }

  wipe(node: ClusterNode): void {
    rmSync(node.directory, { recursive: true, force: true });
  }

  async bundle(
    kind: CertificateKind,
    name: string,
    by: Authority = this.authority,
    nowMs?: number,
  ): Promise<Bundle> {
    return bundleOf(by, kind, name, nowMs);
  }

  /** With the certificate of a tc client by default; `null`: without one. */
  async ask(
    node: ClusterNode,
    method: "GET" | "POST",
    path: string,
    options: AskOptions = {},
  ): Promise<Answer> {
    const { as = this.clerk, body, headers } = options;
    const payload = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    const sent = request(node.endpoint + path, {
      method,
      agent: this.#agent(as),
      headers: { ...headers, ...(payload === undefined ? {} : { "content-type": "application/json" }) },
      timeout: 5000,
    });
    return new Promise((resolve, reject) => {
      sent.once("timeout", () => sent.destroy(new Error("no answer in time")));
      sent.once("error", reject);
      sent.once("response", (response) => {
        text(response).then(
          (told) => resolve({ status: response.statusCode ?? 0, body: parsed(told) }),
          reject,
        );
      });
      sent.end(payload);
    });
  }

  async leaderAt(node: ClusterNode): Promise<LeaderView | null> {
    const answer = await this.ask(node, "GET", "/v1/tc/leader").catch(() => null);
    return answer?.status === 200 ? (answer.body as unknown as LeaderView) : null;
  }

  /** The servers that currently report to lead. */
  async leading(): Promise<readonly ClusterNode[]> {
    const views = await Promise.all(this.running.map((node) => this.leaderAt(node)));
    return this.running.filter((_, index) => views[index]?.peer.leading === true);
  }

  /** Waits until one leads and every running server names it, with that term. */
  async leader(limitMs: number = 12 * this.ttlMs + 15_000): Promise<ClusterNode> {
    let found: ClusterNode | undefined;
    await eventually(limitMs, "one leader that all running nodes name", async () => {
      const views = await Promise.all(this.running.map((node) => this.leaderAt(node)));
      const leaders = this.running.filter((_, index) => views[index]?.peer.leading === true);
      found = leaders[0];
      const isNamed = views.every((view) => view?.leader_id === found?.identity);
      return leaders.length === 1 && isNamed;
    });
    return found as ClusterNode;
  }

  /** One leader, and all running servers in each other's membership and, with their disks, in each electorate. */
  async settled(limitMs: number = 20 * this.ttlMs + 20_000): Promise<void> {
    const wanted = this.running
      .map(({ endpoint }) => endpoint)
      .toSorted()
      .join();
    await eventually(limitMs, "the membership and the electorate are the running nodes", async () => {
      const lists = await Promise.all(this.running.map((node) => this.list(node)));
      if (!lists.every((list) => list.join() === wanted)) return false;
      const views = await Promise.all(this.running.map((node) => this.leaderAt(node)));
      const electors = views.map((view) => `${view?.peer.identity}/${view?.peer.disk}`).toSorted();
      return views.every((view) => {
        const members = Object.entries(view?.peer.config?.members ?? {});
        return (
          members
            .map(([identity, { disk }]) => `${identity}/${disk}`)
            .toSorted()
            .join() === electors.join()
        );
      });
    });
    await this.leader(limitMs);
  }

  async list(node: ClusterNode): Promise<readonly string[]> {
    const answer = await this.ask(node, "GET", "/v1/tc/cluster/list").catch(() => null);
    return (answer?.body["endpoints"] ?? []) as readonly string[];
  }

  async close(): Promise<void> {
    for (const agent of this.#agents.values()) agent.destroy();
    await this.scratch.close();
  }

  #write(name: string, { key, cert, ca }: Bundle): string {
    const file = join(this.directory, `${name}.pem`);
    writeFileSync(file, `${key}\n${cert}\n${ca}\n`, { mode: 0o600 });
    return file;
  }

  #agent(as: AskOptions["as"]): Agent {
    const name = as?.cert ?? "";
    let agent = this.#agents.get(name);
    if (agent === undefined) {
      agent = new Agent({
        keepAlive: true,
        maxCachedSessions: 0,
        ca: this.#ca,
        checkServerIdentity: () => undefined,
        ...(as === null || as === undefined ? {} : { cert: as.cert, key: as.key }),
      });
      this.#agents.set(name, agent);
    }
    return agent;
  }
}

/** Polls less often than `until`: each poll asks every server, which need their cores for the rest. */
async function eventually(limitMs: number, what: string, isSo: () => Promise<boolean>): Promise<void> {
  await until(limitMs, what, async () => {
    if (await isSo()) return true;
    await sleep(systemClock, LOOK_MS);
    return false;
  });
}

async function bundleOf(
  authority: Authority,
  kind: CertificateKind,
  name: string,
  nowMs: number = systemClock.wallMs(),
): Promise<Bundle> {
  const nodeId = kind === "server" ? name : undefined;
  return parseBundle(
    await authority.issue({ kind, name, nodeId, hosts: ["127.0.0.1"], days: 20, nowMs }),
    name,
  );
}

/** Metrics are not JSON. */
function parsed(told: string): Answer["body"] {
  return told.startsWith("{") ? (JSON.parse(told) as Answer["body"]) : { text: told };
}
