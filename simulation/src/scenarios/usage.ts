/**
 * The grammar of one command, written as its usage: `NODE campaigns [at=SERVER] [ttl=MS] [cold]`.
 *
 * Words in lower case stand for themselves and words in capitals for arguments. Options follow, in any order. `MS` and `N`
 * are numbers, `NODES` and `ELECTORATE` are lists of names with commas, and every other argument is a name.
 */

/** What is wrong with a line, and what is allowed. The reader of the file adds the name of the file and the line. */
export class UsageError extends Error {}

export class Arguments {
  readonly #usage: Usage;
  readonly #values: ReadonlyMap<string, string>;

  constructor(usage: Usage, values: ReadonlyMap<string, string>) {
    this.#usage = usage;
    this.#values = values;
  }

  name(argument: string): string {
    const value = this.option(argument);
    if (value === undefined) throw new Error(`${argument} is an option of "${this.#usage.text}"`);
    return value;
  }

  names(argument: string): readonly string[] {
    return this.name(argument).split(",");
  }

  number(argument: string): number {
    return Number(this.name(argument));
  }

  /** `undefined` where the line leaves the option out. */
  option(name: string): string | undefined {
    if (!this.#usage.declares(name)) throw new Error(`"${this.#usage.text}" does not declare ${name}`);
    return this.#values.get(name);
  }

  numberOption(name: string): number | undefined {
    const value = this.option(name);
    return value === undefined ? undefined : Number(value);
  }

  has(flag: string): boolean {
    return this.option(flag) !== undefined;
  }
}

/** By the name of an argument: what it must look like. */
const KINDS: readonly { readonly of: RegExp; readonly allowed: RegExp; readonly meaning: string }[] = [
  { of: /^(?:MS|N)$/, allowed: /^\d+(?:\.\d+)?$/, meaning: "a number that is not negative" },
  {
    of: /^(?:NODES|ELECTORATE)$/,
    allowed: /^[a-z][a-z0-9-]*(?:,[a-z][a-z0-9-]*)*$/,
    meaning: "names separated by commas, without spaces",
  },
  { of: /^/, allowed: /^[a-z][a-z0-9-]*$/, meaning: "a name in lower case" },
];

const OPTION = /^\[([a-z-]+)(?:=([A-Z]+))?\]$/;

export class Usage {
  readonly text: string;
  readonly #words: readonly string[];
  /** By name: the argument of the option, `null` of a flag. */
  readonly #options: ReadonlyMap<string, string | null>;

  constructor(text: string) {
    this.text = text;
    const parts = text.split(" ");
    this.#words = parts.filter((part) => !part.startsWith("["));
    this.#options = new Map(
      parts
        .filter((part) => part.startsWith("["))
        .map((part) => {
          const [, name = "", argument = null] = OPTION.exec(part) ?? [];
          return [name, argument] as const;
        }),
    );
  }

  /** Of two commands that a line may be, the one with more words of its own is meant. */
  get ownWords(): number {
    return this.#words.filter((word) => !isArgument(word)).length;
  }

  declares(name: string): boolean {
    return this.#options.has(name) || (isArgument(name) && this.#words.includes(name));
  }

  /** The arguments of a line that is this command; `null` if its words are another command's. */
  read(line: string): Arguments | null {
    const given = line.split(/ +/);
    const words = given.slice(0, this.#words.length);
    if (words.length < this.#words.length) return null;
    if (this.#words.some((word, i) => !isArgument(word) && word !== words[i])) return null;
    const values = new Map<string, string>();
    this.#words.forEach((word, i) => {
      if (isArgument(word)) values.set(word, this.#checked(word, word, words[i] ?? ""));
    });
    for (const option of given.slice(this.#words.length)) this.#readOption(option, values);
    return new Arguments(this, values);
  }

  #readOption(given: string, values: Map<string, string>): void {
    const [name = "", value] = given.split("=", 2);
    const argument = this.#options.get(name);
    if (argument === undefined) throw new UsageError(`"${given}" is not allowed here; ${this.#allowed()}`);
    if (values.has(name)) throw new UsageError(`${name} is given twice; give it once`);
    if ((value === undefined) !== (argument === null))
      throw new UsageError(`"${given}" is no ${name} as it is used here; ${this.#allowed()}`);
    values.set(name, argument === null ? "" : this.#checked(name, argument, value ?? ""));
  }

  #checked(name: string, argument: string, value: string): string {
    const kind = KINDS.find(({ of }) => of.test(argument));
    if (kind?.allowed.test(value) === true) return value;
    throw new UsageError(`${name} must be ${kind?.meaning}, not "${value}"; ${this.#allowed()}`);
  }

  #allowed(): string {
    return `allowed is: ${this.text}`;
  }
}

function isArgument(word: string): boolean {
  return /^[A-Z]+$/.test(word);
}
