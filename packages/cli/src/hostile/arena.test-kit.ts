/**
 * A real `tenure serve` with TLS, client certificates and JWTs over an embedded store, an honest leader of a few groups, and
 * attackers. All are gone after `close`.
 */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { systemClock } from "@tenure/core";
import { freePorts } from "@tenure/engines";
import { Authority, type Bundle, type CertificateKind, parseBundle } from "@tenure/peers/certificates";
import { until } from "../engines/until.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";
import type { ServerProcess } from "../server-process.test-kit.js";
import { KitProcess } from "./kit-process.test-kit.js";
import type {
  AttackMessage,
  AttackOptions,
  HonestMessage,
  HonestOptions,
  HonestOrder,
  Place,
  Strengths,
} from "./messages.test-kit.js";

const HEARTBEAT_MS = 500;
const SERVER_NODE_ID = "arena";
/** How many requests a node may make per second. */
const CAMPAIGNS_PER_NODE = 1000;
/** Few, so that the honest leader gets its turn while the attackers gather. */
const CAMPAIGNS_AT_ONCE = 100;
const LONG_TTL_MS = 60_000;
/** The unit in which Linux counts processor time. */
const TICK_MS = 10;
const PROBE_MS = 30_000;
/**
 * Attackers usually run on other machines and take no processor time from the service; here they get what it and the
 * honest leader leave over. What they still take is measured by `Arena.burn`.
 */
export const ATTACKERS_LAST: readonly string[] = ["nice", "-n", "10"];

export interface Latencies {
  readonly latenciesMs: readonly number[];
  readonly failures: readonly string[];
}

/** The resources that the server's process holds. */
export interface Holdings {
  readonly descriptors: number;
  readonly rssMb: number;
  readonly cpuMs: number;
}

export class Arena {
  readonly groups: readonly string[];
  readonly place: Place;
  readonly #scratch: Scratch;
  readonly #server: ServerProcess;
  readonly #honest: KitProcess<HonestOrder, HonestMessage>;
  readonly #admin: Agent;
  readonly #key: KeyObject;
  readonly #others = new Set<{ kill(): Promise<void> }>();
  readonly #turnFile: string;
  #firstTerms: readonly number[] = [];

  private constructor(
    scratch: Scratch,
    server: ServerProcess,
    place: Place,
    groups: readonly string[],
    honest: HonestOptions,
    admin: Bundle,
    key: KeyObject,
    turnFile: string,
  ) {
    this.#turnFile = turnFile;
    this.#scratch = scratch;
    this.#server = server;
    this.place = place;
    this.groups = groups;
    this.#honest = new KitProcess("honest-main", honest);
    this.#admin = new Agent({ keepAlive: true, ca: place.ca, cert: admin.cert, key: admin.key });
    this.#key = key;
  }

  /** Resolves when the honest leader leads this many groups. `serve`: more options of the service. */
  static async open(groupCount: number, ttlMs: number, serve: readonly string[] = []): Promise<Arena> {
    const scratch = new Scratch();
    const directory = scratch.directory();
    const nowMs = systemClock.wallMs();
    const authority = await Authority.create({ trustDomain: "tenure", keyKind: "p256", days: 2, nowMs });
    const issue = async (kind: CertificateKind, name: string) =>
      parseBundle(
        await authority.issue({
          kind,
          name,
          nodeId: kind === "server" ? SERVER_NODE_ID : undefined,
          hosts: ["127.0.0.1"],
          days: 2,
          nowMs,
        }),
        name,
      );
    const [own, node, admin] = await Promise.all([
      issue("server", "arena"),
      issue("sdk", "honest"),
      issue("admin", "judge"),
    ]);
    const bundleFile = join(directory, "server.pem");
    writeFileSync(bundleFile, `${own.key}\n${own.cert}\n${own.ca}\n`, { mode: 0o600 });
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const jwksFile = join(directory, "jwks.json");
    writeFileSync(
      jwksFile,
      JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "arena" }] }),
    );
    const [grpcPort = 0] = await freePorts(1);
    const turnFile = join(directory, "longest-turn");
    const words = [
      ...[
        "--listen",
        "127.0.0.1:0",
        "--grpc",
        `127.0.0.1:${grpcPort}`,
        "--store",
        `embedded:${join(directory, "data")}`,
      ],
      ...["--bundle", bundleFile, "--jwt-jwks", jwksFile, "--log-level", "error"],
      ...serve,
    ];
    const server = await scratch.serve(words, {
      NODE_OPTIONS: `--import ${new URL("../../dist/hostile/turn-probe.test-kit.js", import.meta.url).href}`,
      MAX_TURN_FILE: turnFile,
    });
    const place: Place = { url: server.url, port: server.port, grpcPort, ca: authority.certificatePem };
    const groups = Array.from({ length: groupCount }, (_, index) => `honest-${index}`);
    const { cert, key } = node;
    const honest = { place, cert, key, groups, ttlMs, heartbeatMs: HEARTBEAT_MS };
    const arena = new Arena(scratch, server, place, groups, honest, admin, privateKey, turnFile);
    await arena.#honest.message("leads");
    arena.#firstTerms = await arena.terms();
    return arena;
  }

  /**
   * The next renewals of the honest leader, at least `count`; all of them until `work` has ended, which awaits
   * `enough`.
   */
  async renewals(
    count: number,
    work: (enough: () => Promise<unknown>) => Promise<void> = async (enough) => void (await enough()),
  ): Promise<Latencies> {
    const from = this.#honest.messages.length;
    this.#honest.order({ kind: "collect", count });
    await work(() => this.#honest.message("enough", from));
    this.#honest.order({ kind: "report" });
    return this.#honest.message("collected", from);
  }

  /** Leaderships that the honest leader lost; should be none. */
  get losses(): readonly string[] {
    return this.#honest.messages.flatMap((message) =>
      message.kind === "lost" ? [`${message.group}: ${message.reason}`] : [],
    );
  }

  /** The terms of the honest groups when `open` resolved. On a busy machine a first campaign may have been repeated. */
  get firstTerms(): readonly number[] {
    return this.#firstTerms;
  }

  /** The terms of the honest groups at the service. */
  async terms(): Promise<readonly number[]> {
    const answers = await Promise.all(this.groups.map((group) => this.get(`/v1/groups/${group}/leader`)));
    return answers.map((answer) => (answer["leader"] as { term: number } | null)?.term ?? 0);
  }

  /** As an admin. */
  async get(path: string): Promise<Readonly<Record<string, unknown>>> {
    return this.#ask("GET", path);
  }

  /** Makes this many groups that are led for a minute, by nodes that each win as many as their rate allows. */
  async lead(count: number): Promise<void> {
    for (let from = 0; from < count; from += CAMPAIGNS_AT_ONCE) {
      const nodeId = `crowd-${Math.floor(from / CAMPAIGNS_PER_NODE)}`;
      const token = this.#token({ sub: nodeId, role: "node", groups: ["crowd/*"] });
      const ids = Array.from(
        { length: Math.min(CAMPAIGNS_AT_ONCE, count - from) },
        (_, index) => from + index,
      );
      const campaigns = ids.map((id) => ({
        group_id: `crowd/${id}`,
        node_id: nodeId,
        lease_ttl_ms: LONG_TTL_MS,
      }));
      const { results } = (await this.#ask("POST", "/v1/campaign", { campaigns }, token)) as {
        results: readonly { is_leader?: boolean }[];
      };
      const lost = results.find((result) => result.is_leader !== true);
      if (lost !== undefined) throw new Error(`a campaign of the crowd was answered ${JSON.stringify(lost)}`);
    }
  }

  /** Resolves when the attack is in progress. `before`: a prefix of the attacker's command. */
  async attack(attacks: Strengths, before: readonly string[] = []): Promise<Attacker> {
    const options: AttackOptions = {
      attacks,
      place: this.place,
      observerToken: this.#token({ sub: "eve", role: "observer", groups: ["*"] }),
      nodeToken: this.#token({ sub: "mallory", role: "node", groups: ["mallory/*"] }),
    };
    const process = new KitProcess<object, AttackMessage>("attacker-main", options, before);
    this.#others.add(process);
    await process.message("attacking");
    return {
      end: async () => {
        process.order({ kind: "end" });
        const { counts } = await process.message("report");
        await process.exited();
        return counts;
      },
    };
  }

  /**
   * A process that uses as much processor time as an attacker did, with its priority, without contact to the service.
   */
  async burn(share: number): Promise<{ end(): Promise<void> }> {
    const process = new KitProcess<object, { readonly kind: "burning" }>(
      "burner-main",
      { share },
      ATTACKERS_LAST,
    );
    this.#others.add(process);
    await process.message("burning");
    return { end: () => process.kill() };
  }

  holdings(): Holdings {
    const directory = `/proc/${this.#server.pid}`;
    const rssKb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`${directory}/status`, "utf8"))?.[1];
    const [userTicks = 0, systemTicks = 0] = readFileSync(`${directory}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ")
      .slice(11, 13)
      .map(Number);
    return {
      descriptors: readdirSync(`${directory}/fd`).length,
      rssMb: Math.round(Number(rssKb) / 1024),
      cpuMs: (userTicks + systemTicks) * TICK_MS,
    };
  }

  /** The longest turn of the server's event loop since the last call, in milliseconds. */
  async longestTurn(): Promise<number> {
    rmSync(this.#turnFile, { force: true });
    process.kill(this.#server.pid, "SIGUSR2");
    let found = "";
    await until(PROBE_MS, "the server reports its longest turn", async () => {
      found = existsSync(this.#turnFile) ? readFileSync(this.#turnFile, "utf8") : "";
      return found.endsWith("\n");
    });
    return Number(found);
  }

  /** Ends the honest leader, then the server; resolves with the exit code and the duration. */
  async stop(): Promise<{ readonly code: number | null; readonly tookMs: number }> {
    this.#honest.order({ kind: "end" });
    await this.#honest.exited();
    const startMs = performance.now();
    const code = await this.#server.end("SIGTERM");
    return { code, tookMs: performance.now() - startMs };
  }

  async close(): Promise<void> {
    this.#admin.destroy();
    await Promise.all([this.#honest, ...this.#others].map((process) => process.kill()));
    await this.#scratch.close();
  }

  #token(claims: object): string {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const exp = Math.floor(systemClock.wallMs() / 1000) + 3600;
    const signed = `${part({ alg: "EdDSA", kid: "arena" })}.${part({ exp, ...claims })}`;
    return `${signed}.${sign(null, Buffer.from(signed), this.#key).toString("base64url")}`;
  }

  async #ask(
    method: "GET" | "POST",
    path: string,
    body?: object,
    token?: string,
  ): Promise<Readonly<Record<string, unknown>>> {
    const sent = request(this.place.url + path, {
      method,
      ...(token === undefined ? { agent: this.#admin } : { agent: false, ca: this.place.ca }),
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
    });
    return new Promise((resolve, reject) => {
      sent.once("error", reject);
      sent.once("response", (response) => {
        text(response).then((answer) => {
          if (response.statusCode === 200) resolve(JSON.parse(answer) as Record<string, unknown>);
          else reject(new Error(`${method} ${path} was answered ${response.statusCode} ${answer}`));
        }, reject);
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

export interface Attacker {
  /** Resolves when its process is gone, with what it did and how it was answered. */
  end(): Promise<Readonly<Record<string, number>>>;
}
