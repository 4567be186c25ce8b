/** A real `tenure serve` on one port and one directory, across its restarts, and its API for a test's own part. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const COMMAND = fileURLToPath(new URL("../../cli/bin/tenure.js", import.meta.url));
const READY = /^tenure listening on (https?):\/\/\S+:(\d+) /;

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export class Tenure {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #directory: string = mkdtempSync(join(tmpdir(), "tenure-dashboard-"));
  readonly #args: readonly string[];
  readonly #atExit = (): void => void this.#child?.kill("SIGKILL");
  #child: ChildProcess | null = null;
  #port = 0;
  #scheme = "http";
  /** Its log. */
  log = "";

  private constructor(args: readonly string[]) {
    this.#args = args;
    process.once("exit", this.#atExit);
  }

  /** `args` may name files in a directory that the caller keeps. */
  static async start(args: readonly string[] = []): Promise<Tenure> {
    const tenure = new Tenure(args);
    await tenure.start();
    return tenure;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const listen = ["--listen", `127.0.0.1:${this.#port}`, "--store", `embedded:${this.#directory}`];
    const environment = Object.entries(process.env).filter(([name]) => !name.startsWith("TENURE_"));
    const child = spawn(process.execPath, [COMMAND, "serve", ...listen, ...this.#args], {
      cwd: this.#directory,
      env: Object.fromEntries(environment),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.log += text));
    this.#port = await new Promise<number>((resolve, reject) => {
      createInterface({ input: child.stdout }).on("line", (line) => {
        const [, scheme, port] = READY.exec(line) ?? [];
        this.#scheme = scheme ?? this.#scheme;
        if (port !== undefined) resolve(Number(port));
      });
      child.once("exit", () => reject(new Error(`tenure serve ended before it was ready: ${this.log}`)));
    });
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async close(): Promise<void> {
    process.off("exit", this.#atExit);
    this.#agent.destroy();
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** `rest` is what follows the group: "/campaign". */
  act(groupId: string, rest: string, body: object, token?: string): Promise<Answer> {
    return this.ask("POST", `/v1/groups/${encodeURIComponent(groupId)}${rest}`, body, token);
  }

  async elect(groupId: string, nodeId: string, ttlMs = 30_000, metadata?: object): Promise<number> {
    const { status, body } = await this.act(groupId, "/campaign", {
      node_id: nodeId,
      lease_ttl_ms: ttlMs,
      ...(metadata === undefined ? {} : { metadata }),
    });
    if (body["is_leader"] !== true)
      throw new Error(`a campaign was answered ${status} ${JSON.stringify(body)}`);
    return (body["leader"] as { term: number }).term;
  }

  async resign(groupId: string, nodeId: string, term: number): Promise<void> {
    const { status, body } = await this.act(groupId, "/resign", { node_id: nodeId, term });
    if (status !== 200) throw new Error(`a resignation was answered ${status} ${JSON.stringify(body)}`);
  }

  async ask(method: string, path: string, body?: object, token?: string): Promise<Answer> {
    const text = body === undefined ? "" : JSON.stringify(body);
    const headers = {
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const options = { host: "127.0.0.1", port: this.#port, method, path, headers, agent: this.#agent };
    return new Promise((resolve, reject) => {
      const sent = request(options, (response) => {
        let answer = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (answer += chunk));
        response.once("end", () =>
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer) as Answer["body"] }),
        );
        response.once("error", reject);
      });
      sent.once("error", reject);
      sent.end(text);
    });
  }
}
