/**
 * A reader who does what a page of the documentation says, block by block, in real terminals. The page's ports are replaced by
 * free ones, and everything that it starts or writes is gone after `close`.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import {
  type Engine,
  type EngineName,
  freePorts,
  type Installed,
  isMissing,
  startEtcd,
  startNats,
  startPostgres,
  startZookeeper,
} from "@tenure/engines";
import { type Block, blocksIn } from "./blocks.test-kit.js";
import { matchOf } from "./expected-output.test-kit.js";
import { ROOT } from "./tarballs.test-kit.js";
import { endAll, killAll, Terminal } from "./terminal.test-kit.js";

const SERVER_PORT = "7420";
/** The ports that the pages name for engines. */
const ENGINES: Readonly<Record<EngineName, [port: string, start: () => Promise<Engine>]>> = {
  postgres: ["5432", startPostgres],
  etcd: ["2379", startEtcd],
  nats: ["4222", startNats],
  zookeeper: ["2181", startZookeeper],
};
const SHELLS = new Set(["sh", "bash"]);
/** Of the repository; a reader's clone does not have them, or has its own. */
const NOT_CLONED = new Set([".git", "tenure-data", "site", "sbom"]);
/** Of the environment the readers of pages do not have: our settings, and what npm tells the scripts that it runs. */
const NOT_INHERITED = /^(?:TENURE|COORDINATOR|VITEST)_|^npm_(?!config_(?:registry|cache|userconfig)$)/;
/** Guards against hanging only. */
const PATIENCE_MS = 120_000;
const RETRY_MS = 200;

export interface Milestone {
  readonly name: string;
  readonly afterMs: number;
}

export interface ReaderOptions {
  /** A clone of the repository to work in. Default: a temporary folder that looks like one and is removed. */
  readonly clone?: string;
  readonly report?: (line: string) => void;
  /** How long the reader waits for the end or the output of a block. */
  readonly patienceMs?: number;
  /** Takes the pictures of a page. Default: none are taken. */
  readonly photograph?: (name: string, url: string) => Promise<void>;
}

/** What the page needs and this machine does not have. */
export function missingFor(page: string, text: string): readonly Installed[] {
  const blocks = blocksIn(page, text);
  const given = blocks.flatMap(({ notes }) => givenBy(notes));
  const engines = given.filter((name): name is EngineName => name in ENGINES);
  const usesCurl = blocks.some((block) => isFollowed(block) && /^\s*curl /m.test(block.code));
  return [...engines, ...(usesCurl ? (["curl"] as const) : [])].filter((name) => isMissing(name));
}

/** Whether a reader does something with the block: types it, saves it, or compares it with a terminal. */
export function isFollowed({ language, notes }: Block): boolean {
  if (notes.has("not run")) return false;
  return SHELLS.has(language) || ["output", "file", "ctrl-c", "picture"].some((key) => notes.has(key));
}

export class Reader {
  readonly milestones: Milestone[] = [];
  readonly #own: string = mkdtempSync(join(tmpdir(), "tenure-reader-"));
  readonly #folder: string;
  readonly #mark: string = `TENURE_READER=${randomUUID()}`;
  readonly #terminals = new Map<string, Terminal>();
  readonly #last = new Map<string, Block>();
  readonly #ports = new Map<string, string>();
  readonly #engines: Engine[] = [];
  readonly #environment: Record<string, string> = {};
  readonly #report: (line: string) => void;
  readonly #photograph: NonNullable<ReaderOptions["photograph"]>;
  readonly #patienceMs: number;
  readonly #startedMs: number = performance.now();
  readonly #atExit = (): void => {
    killAll(this.#mark);
    rmSync(this.#own, { recursive: true, force: true });
  };
  /** An interrupted test runner ends its workers with this signal. */
  readonly #atSignal = (): void => process.exit(1);

  constructor(options: ReaderOptions = {}) {
    const { clone, report = () => {}, photograph = async () => {}, patienceMs = PATIENCE_MS } = options;
    process.once("exit", this.#atExit).once("SIGTERM", this.#atSignal).once("SIGINT", this.#atSignal);
    this.#folder = clone ?? join(this.#own, "tenure");
    this.#report = report;
    this.#patienceMs = patienceMs;
    this.#photograph = photograph;
    mkdirSync(join(this.#own, "blocks"));
    if (clone === undefined) linkClone(this.#folder);
  }

  /** Rejects at the first block that does not do what the page says. */
  async follow(page: string, text: string): Promise<void> {
    const blocks = blocksIn(page, text);
    await this.#prepare(blocks);
    for (const block of blocks.filter(isFollowed)) {
      const startedMs = performance.now();
      try {
        await this.#do(block);
      } catch (error) {
        throw new Error(`${block.place}: ${(error as Error).message}`, { cause: error });
      }
      const name = block.notes.get("milestone");
      const afterMs = performance.now() - this.#startedMs;
      if (name !== undefined) this.milestones.push({ name, afterMs });
      this.#report(`${block.place} ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    }
  }

  async close(): Promise<void> {
    process.off("exit", this.#atExit).off("SIGTERM", this.#atSignal).off("SIGINT", this.#atSignal);
    await endAll(this.#mark);
    for (const engine of this.#engines) await engine.stop();
    rmSync(this.#own, { recursive: true, force: true });
  }

  async #prepare(blocks: readonly Block[]): Promise<void> {
    const named = blocks.flatMap(({ notes }) => notes.get("ports")?.split(/\s+/) ?? []);
    const free = await freePorts(named.length + 1);
    for (const [index, port] of [SERVER_PORT, ...named].entries()) this.#ports.set(port, String(free[index]));

    const address = `127.0.0.1:${this.#ports.get(SERVER_PORT)}`;
    const ours = Object.entries(process.env).filter(([name]) => !NOT_INHERITED.test(name));
    Object.assign(this.#environment, Object.fromEntries(ours), {
      TENURE_LISTEN: address,
      TENURE_SERVER: `http://${address}`,
      TENURE_LOG_FORMAT: "text",
      NO_COLOR: "1",
      XDG_CONFIG_HOME: join(this.#own, "config"),
      [this.#mark.split("=")[0] ?? ""]: this.#mark.split("=")[1] ?? "",
    });
    for (const name of blocks.flatMap(({ notes }) => givenBy(notes))) await this.#give(name);
  }

  async #give(name: string): Promise<void> {
    const bin = join(this.#folder, "node_modules/.bin");
    if (name === "command") {
      this.#environment["PATH"] = `${bin}${delimiter}${this.#environment["PATH"]}`;
    } else if (name === "server") {
      const server = this.#terminal("the given server");
      server.start(`${bin}/tenure serve --store embedded:${this.#own}/data`);
      await this.#wait(server, (output) => output.includes("tenure listening on"));
    } else if (name in ENGINES) {
      const [port, start] = ENGINES[name as EngineName];
      const engine = await start();
      this.#engines.push(engine);
      this.#ports.set(port, new URL(engine.url.split(",")[0] ?? "").port);
    } else {
      throw new Error(
        `"given: ${name}" is unknown; known are command, server, ${Object.keys(ENGINES).join(", ")}`,
      );
    }
  }

  async #do(block: Block): Promise<void> {
    const { language, notes, code } = block;
    const file = notes.get("file");
    const interrupted = notes.get("ctrl-c");
    const [picture, url = ""] = notes.get("picture")?.split(" ") ?? [];
    if (file !== undefined) {
      const path = join(this.#folder, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, this.#toActual(code));
    } else if (interrupted !== undefined) {
      await this.#terminal(interrupted).interrupt(AbortSignal.timeout(this.#patienceMs));
    } else if (picture !== undefined) {
      await this.#photograph(picture, this.#toActual(url));
    } else if (notes.has("output")) {
      await this.#compare(block);
    } else if (SHELLS.has(language)) {
      await this.#type(block);
    }
  }

  async #type(block: Block): Promise<void> {
    const name = block.notes.get("terminal") ?? "1";
    const terminal = this.#terminal(name);
    this.#last.set(name, block);
    terminal.start(this.#toActual(block.code));
    if (block.notes.has("stays")) return;
    await this.#wait(terminal, () => false);
    const expected = Number(block.notes.get("exit") ?? 0);
    if (terminal.exitCode === expected || block.notes.has("retry")) return;
    throw new Error(
      `a command exited with ${terminal.exitCode} instead of ${expected}; the terminal shows:\n${this.#shown(terminal)}`,
    );
  }

  async #compare({ notes, code }: Block): Promise<void> {
    const name = notes.get("terminal") ?? "1";
    const terminal = this.#terminal(name);
    const pattern = matchOf(code, { numbersVary: notes.get("output") === "numbers vary" });
    const isSeen = (): boolean => pattern.test(this.#shown(terminal));
    const deadline = AbortSignal.timeout(this.#patienceMs);
    const last = this.#last.get(name);
    await terminal.until(isSeen, deadline);
    // A job in the background may still print after its block has ended.
    const jobs = AbortSignal.timeout(last?.code.includes("&\n") === true ? this.#patienceMs : 1_000);
    while (!isSeen() && terminal.isIdle && !(last?.notes.has("retry") === true ? deadline : jobs).aborted) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      if (last?.notes.has("retry") === true && !isSeen()) await this.#type(last);
    }
    if (!isSeen()) throw new Error(`terminal ${name} does not show\n${code}but\n${this.#shown(terminal)}`);
  }

  async #wait(terminal: Terminal, isSeen: (output: string) => boolean): Promise<void> {
    const signal = AbortSignal.timeout(this.#patienceMs);
    await terminal.until(isSeen, signal);
    if (signal.aborted)
      throw new Error(`the block does not end; the terminal shows:\n${this.#shown(terminal)}`);
  }

  #terminal(name: string): Terminal {
    const known = this.#terminals.get(name);
    if (known !== undefined) return known;
    const terminal = new Terminal({
      folder: this.#folder,
      environment: this.#environment,
      blocks: join(this.#own, "blocks"),
    });
    this.#terminals.set(name, terminal);
    return terminal;
  }

  #toActual(text: string): string {
    return text.replace(/\b\d{4,5}\b/g, (port) => this.#ports.get(port) ?? port);
  }

  /** What the terminal shows, with the ports of the page. */
  #shown(terminal: Terminal): string {
    const named = new Map([...this.#ports].map(([port, actual]) => [actual, port]));
    return terminal.output.replace(/\b\d{4,5}\b/g, (port) => named.get(port) ?? port);
  }
}

function givenBy(notes: ReadonlyMap<string, string>): readonly string[] {
  return notes.get("given")?.split(/,\s*/) ?? [];
}

/** A folder with the contents of the repository, in which a reader leaves files of their own. */
function linkClone(folder: string): void {
  mkdirSync(folder);
  for (const name of readdirSync(ROOT)) {
    if (!NOT_CLONED.has(name)) symlinkSync(join(ROOT, name), join(folder, name));
  }
}
