/**
 * A scenario that a person can read as a file: what happens, and then what followed from it.
 *
 *     # A comment tells the story.
 *     rule: a sentence that the scenario guards; it is the title of the test
 *     mutants: the rules, switched off, with which the scenario must fail
 *
 *     a campaigns ttl=1000
 *     advance 300
 *     ----
 *     0 | s1 to a: elected in term 1; a may act until 990
 *
 * Headers come first. Then come blocks, with an empty line between them: commands, one per line, and below `----` what
 * was printed while they ran. What is below `----` is written by running the scenario; nothing else in the file is changed
 * by that. A new block needs no `----` and nothing below it: the first run that writes adds both.
 */
import { type Arguments, Usage, UsageError } from "./usage.js";

export interface Command<Stage> {
  /** See `Usage`. */
  readonly usage: string;
  run(stage: Stage, given: Arguments): void | Promise<void>;
}

/** What the scenarios of one world may contain. */
export interface Vocabulary<Stage> {
  /** By name: what the header means. `rule` and `mutants` are headers of every scenario. */
  readonly headers: Readonly<Record<string, string>>;
  readonly commands: readonly Command<Stage>[];
}

const COMMON_HEADERS = {
  rule: "the sentence that the scenario guards",
  mutants: "names of mutants with which the scenario must fail, separated by spaces",
} as const;

const RULE_OFF = "----";
/** Below the commands of a block that printed nothing, so that nothing is seen to be meant. */
const NOTHING = "(nothing)";
const HEADER = /^([a-z][a-z-]*): (.*\S)$/;

interface Step<Stage> {
  readonly source: string;
  readonly line: number;
  readonly command: Command<Stage>;
  readonly given: Arguments;
}

/** The end of the commands of a block: what they have printed comes here. */
const RESULT = Symbol("result");

/** A line that is kept as it is, a command, or the place of a result. */
type Line<Stage> = string | Step<Stage> | typeof RESULT;

/** A line that cannot be read, or a command that cannot be carried out. */
export class ScenarioError extends Error {
  constructor(file: string, line: number, problem: string, options?: ErrorOptions) {
    super(`${file}:${line}: ${problem}`, options);
  }
}

export class Scenario<Stage> {
  readonly file: string;
  /** As it is in the file. */
  readonly text: string;
  readonly #headers: ReadonlyMap<string, string>;
  readonly #lines: readonly Line<Stage>[];

  private constructor(
    file: string,
    text: string,
    headers: ReadonlyMap<string, string>,
    lines: readonly Line<Stage>[],
  ) {
    this.file = file;
    this.text = text;
    this.#headers = headers;
    this.#lines = lines;
  }

  /** Throws a `ScenarioError` at the first line that cannot be read. */
  static parse<Stage>(file: string, text: string, vocabulary: Vocabulary<Stage>): Scenario<Stage> {
    const headers = new Map<string, string>();
    const lines: Line<Stage>[] = [];
    let part: "nothing" | "commands" | "result" = "nothing";
    const sources = text.replace(/\n*$/, "").split("\n");
    sources.forEach((source, i) => {
      const at = (problem: string): ScenarioError => new ScenarioError(file, i + 1, problem);
      if (source.trim() === "") {
        if (part === "commands") lines.push(RESULT);
        part = "nothing";
        return void lines.push("");
      }
      if (part === "result") return;
      if (source === RULE_OFF) {
        if (part === "nothing") throw at(`no command is above this ${RULE_OFF}; add one, or remove the line`);
        part = "result";
        return void lines.push(RESULT);
      }
      if (source.startsWith("#")) return void lines.push(source);
      const header = HEADER.exec(source);
      if (header === null) {
        part = "commands";
        return void lines.push(readStep(source, i + 1, vocabulary, at));
      }
      if (lines.includes(RESULT) || part === "commands")
        throw at(`the header "${source}" must be above the first command`);
      readHeader(header, headers, vocabulary, at);
      lines.push(source);
    });
    if (part === ("commands" as string)) lines.push(RESULT);
    for (const name of Object.keys(COMMON_HEADERS))
      if (!headers.has(name)) throw new ScenarioError(file, 1, `the header "${name}: …" is missing; add it`);
    return new Scenario(file, text, headers, lines);
  }

  get rule(): string {
    return this.header("rule") ?? "";
  }

  get mutants(): readonly string[] {
    return this.header("mutants")?.split(/ +/) ?? [];
  }

  header(name: string): string | undefined {
    return this.#headers.get(name);
  }

  /** Runs every command on the stage and returns the file as it should be: with what was printed below each block. */
  async play(stage: Stage, printed: Printed): Promise<string> {
    const lines: string[] = [];
    for (const line of this.#lines) {
      if (typeof line === "string") lines.push(line);
      else if (line === RESULT) lines.push(RULE_OFF, ...printed.take());
      else {
        lines.push(line.source);
        await this.#run(line, stage);
      }
    }
    return `${lines.join("\n")}\n`;
  }

  async #run({ command, given, line, source }: Step<Stage>, stage: Stage): Promise<void> {
    try {
      await command.run(stage, given);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      throw new ScenarioError(this.file, line, `"${source}" failed: ${problem}`, { cause: error });
    }
  }
}

/** `once`: of all lines with this text, only the first one in a block is kept. */
export type Print = (line: string, options?: { readonly once?: string }) => void;

/** What a stage has printed since the last block. */
export class Printed {
  #lines: string[] = [];
  readonly #once = new Set<string>();

  readonly print: Print = (line, { once } = {}) => {
    if (once !== undefined && this.#once.has(once)) return;
    if (once !== undefined) this.#once.add(once);
    this.#lines.push(line);
  };

  take(): readonly string[] {
    const lines = this.#lines;
    this.#lines = [];
    this.#once.clear();
    return lines.length === 0 ? [NOTHING] : lines;
  }
}

type Fail = (problem: string) => ScenarioError;

function readHeader(
  [, name = "", value = ""]: RegExpExecArray,
  headers: Map<string, string>,
  vocabulary: Vocabulary<never>,
  at: Fail,
): void {
  const known: Readonly<Record<string, string>> = { ...COMMON_HEADERS, ...vocabulary.headers };
  if (!Object.hasOwn(known, name)) {
    const allowed = Object.entries(known).map(([each, meaning]) => `  ${each}: ${meaning}`);
    throw at(`there is no header "${name}"; allowed are:\n${allowed.join("\n")}`);
  }
  if (headers.has(name)) throw at(`the header "${name}" is given twice; give it once`);
  headers.set(name, value);
}

function readStep<Stage>(
  source: string,
  line: number,
  { commands }: Vocabulary<Stage>,
  at: Fail,
): Step<Stage> {
  const known = commands
    .map((command) => ({ command, usage: new Usage(command.usage) }))
    .toSorted((a, b) => b.usage.ownWords - a.usage.ownWords);
  for (const { command, usage } of known) {
    try {
      const given = usage.read(source.trimEnd());
      if (given !== null) return { source, line, command, given };
    } catch (error) {
      throw error instanceof UsageError ? at(error.message) : error;
    }
  }
  const allowed = commands.map(({ usage }) => `  ${usage}`).toSorted();
  throw at(`"${source}" is no command; allowed are:\n${allowed.join("\n")}`);
}
