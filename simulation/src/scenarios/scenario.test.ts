import { expect, it } from "vitest";
import { Printed, Scenario, type Vocabulary } from "./scenario.js";

/** A stage that prints what it is asked to. */
const VOCABULARY: Vocabulary<(line: string) => void> = {
  headers: { servers: "names of servers" },
  commands: [
    { usage: "NODE says N [times=N] [loudly]", run: (print, given) => print(spoken(given)) },
    { usage: "NODE says N to all", run: (print, given) => print(`all hear ${given.number("N")}`) },
    { usage: "NODE listens", run: () => {} },
    { usage: "NODES agree", run: (print, given) => print(given.names("NODES").join(" and ")) },
    {
      usage: "fail",
      run: () => {
        throw new Error("out of order");
      },
    },
  ],
};

function spoken(given: Parameters<(typeof VOCABULARY)["commands"][0]["run"]>[1]): string {
  const said = `${given.name("NODE")}: ${given.number("N")}`.repeat(given.numberOption("times") ?? 1);
  return given.has("loudly") ? said.toUpperCase() : said;
}

const HEAD = "rule: r\nmutants: m n\n\n";

function parse(body: string, head = HEAD): Scenario<(line: string) => void> {
  return Scenario.parse("x.txt", head + body, VOCABULARY);
}

async function play(body: string): Promise<string> {
  const printed = new Printed();
  return (await parse(body).play(printed.print, printed)).slice(HEAD.length);
}

it("a scenario that is played keeps its commands and comments and gets the output of each block below it", async () => {
  const text = "# a story\na says 1 loudly times=2\na,b agree\n\n# the end\na says 3\n";
  expect(await play(text)).toBe(
    "# a story\na says 1 loudly times=2\na,b agree\n----\nA: 1A: 1\na and b\n\n# the end\na says 3\n----\na: 3\n",
  );
});

it("rewriting a scenario replaces its expected output by what the run printed", async () => {
  expect(await play("a says 1\n----\na: 2\nmore\n\na says 3\n----\n")).toBe(
    "a says 1\n----\na: 1\n\na says 3\n----\na: 3\n",
  );
});

it("a block that prints nothing says so", async () => {
  expect(await play("a listens")).toBe("a listens\n----\n(nothing)\n");
});

it("a line that two commands could mean is the one with more words of its own", async () => {
  expect(await play("a says 7\n\na says 7 to all")).toBe(
    "a says 7\n----\na: 7\n\na says 7 to all\n----\nall hear 7\n",
  );
});

it("a line that is printed once comes once in each block", () => {
  const printed = new Printed();
  const repeat = (): void =>
    ["1 | a waits", "2 | a waits"].forEach((line) => printed.print(line, { once: "a waits" }));
  repeat();
  printed.print("3 | a starts");
  expect(printed.take()).toEqual(["1 | a waits", "3 | a starts"]);
  repeat();
  expect(printed.take()).toEqual(["1 | a waits"]);
});

it("a scenario knows its rule, its mutants and its other headers", () => {
  const scenario = parse("", `servers: s1 s2\n${HEAD}`);
  expect([scenario.rule, scenario.mutants, scenario.header("servers")]).toEqual(["r", ["m", "n"], "s1 s2"]);
});

it.each([
  [
    "a shouts",
    '"a shouts" is no command; allowed are:\n  NODE listens\n  NODE says N [times=N] [loudly]\n  NODE says N to all\n  NODES agree\n  fail',
  ],
  ["a says", "is no command; allowed are:"],
  [
    "a says one",
    'N must be a number that is not negative, not "one"; allowed is: NODE says N [times=N] [loudly]',
  ],
  ["a says 1 often=2", '"often=2" is not allowed here; allowed is: NODE says N [times=N] [loudly]'],
  ["a says 1 times", '"times" is no times as it is used here; allowed is: NODE says N [times=N] [loudly]'],
  ["a says 1 times=x", 'times must be a number that is not negative, not "x"; allowed is'],
  ["a says 1 loudly loudly", "loudly is given twice; give it once"],
  ["a, agree", "NODES must be names separated by commas, without spaces"],
  ["A says 1", "NODE must be a name in lower case"],
  ["----", "no command is above this ----; add one, or remove the line"],
  ["colour: red", 'there is no header "colour"; allowed are:\n  rule: '],
  ["rule: again", 'the header "rule" is given twice; give it once'],
])("the malformed line %j is refused with its file, its line and what is allowed", (line, problem) => {
  expect(() => parse(`# story\n${line}`)).toThrow("x.txt:5: ");
  expect(() => parse(`# story\n${line}`)).toThrow(problem);
});

it("a header below the first command is refused", () => {
  expect(() => parse("a says 1\nservers: s1")).toThrow(
    'x.txt:5: the header "servers: s1" must be above the first command',
  );
});

it("a scenario without a rule, or without mutants, is refused", () => {
  expect(() => parse("", "mutants: m\n")).toThrow('the header "rule: …" is missing; add it');
  expect(() => parse("", "rule: r\n")).toThrow('the header "mutants: …" is missing; add it');
});

it("a command that fails is reported with its file and line", async () => {
  await expect(play("a says 1\nfail")).rejects.toThrow('x.txt:5: "fail" failed: out of order');
});
