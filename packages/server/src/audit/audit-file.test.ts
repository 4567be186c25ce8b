/** The chain of an audit file: how it continues, and which changes of the file it shows. */
import { appendFileSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { cleanUp, temporaryDirectory } from "../auth/auth.test-kit.js";
import { GENESIS, readChainLine, sha256 } from "./audit-chain.js";
import { AuditFile } from "./audit-file.js";
import { type ChainReport, ChainVerifier } from "./chain-verifier.js";

let path: string;
let problems: string[];
beforeEach(() => {
  path = join(temporaryDirectory(), "audit.log");
  problems = [];
});
afterEach(cleanUp);

function open(): AuditFile {
  return new AuditFile(path, { wallMs: () => 1000, onProblem: (problem) => void problems.push(problem) });
}

/** A server that writes these acts and ends. */
function write(...acts: readonly string[]): void {
  const file = open();
  for (const act of acts) file.write(`${JSON.stringify({ act })}\n`);
  file.close();
}

function linesOf(file = path): string[] {
  return readFileSync(file, "utf8").split("\n").slice(0, -1);
}

function verify(files: readonly string[] = [path], head: string | null = null): ChainReport {
  const verifier = new ChainVerifier(head);
  for (const file of files) {
    const parts = readFileSync(file).toString("latin1").split("\n");
    const last = parts.pop() ?? "";
    for (const [index, part] of parts.entries())
      verifier.add(file, index + 1, Buffer.from(part, "latin1"), true);
    if (last !== "") verifier.add(file, parts.length + 1, Buffer.from(last, "latin1"), false);
  }
  return verifier.report();
}

function edit(change: (lines: string[]) => readonly string[]): void {
  writeFileSync(
    path,
    change(linesOf())
      .map((line) => `${line}\n`)
      .join(""),
  );
}

it("each line has a seq, the hash of the line before and its own, which is the SHA-256 of the rest of the line", () => {
  write("a", "b");
  const [first = "", second = ""] = linesOf();
  expect(JSON.parse(first)).toMatchObject({ act: "a", seq: 1, prev: GENESIS.hash });
  const { hash } = JSON.parse(first) as { hash: string };
  expect(hash).toBe(sha256(first.replace(`,"hash":"${hash}"`, "")));
  expect(JSON.parse(second)).toMatchObject({ act: "b", seq: 2, prev: hash });
  expect(verify()).toMatchObject({ lines: 2, firstSeq: 1, head: { seq: 2 }, problem: null });
});

it("the chain continues after a restart, also where the last line is long and has other characters", () => {
  write("a", `ß${"x".repeat(100_000)}`);
  write("c");
  expect(verify()).toMatchObject({ lines: 3, problem: null, recordedTornLines: [] });
  expect(problems).toEqual([]);
});

it("a line that a crash cut off within a character stays in the file, and the next start records it", () => {
  write("a", "ü");
  const bytes = readFileSync(path);
  // Between the two bytes of the last character.
  truncateSync(path, bytes.lastIndexOf("ü") + 1);
  expect(verify().problem).toMatchObject({ kind: "torn", line: 2 });
  write("c");
  expect(problems).toEqual([`${path} ended within a line; the hash chain continues after it`]);
  expect(verify()).toMatchObject({ lines: 3, recordedTornLines: [{ file: path, line: 2 }], problem: null });
  expect(linesOf().map((line) => readChainLine(line)?.seq)).toEqual([1, undefined, 2, 3]);
  // What was recorded cannot be exchanged for something else.
  edit(([first = "", , ...rest]) => [first, '{"act":', ...rest]);
  expect(verify().problem).toMatchObject({ kind: "not-chained", line: 2 });
});

it("lines that are not of the chain stay in the file, and are shown by a check", () => {
  write("a");
  appendFileSync(path, '{"act":"forged"}\n');
  write("b");
  expect(problems).toHaveLength(1);
  expect(linesOf().map((line) => readChainLine(line)?.seq)).toEqual([1, undefined, 2, 3]);
  expect(verify().problem).toMatchObject({ kind: "not-chained", line: 2 });
});

it("a file that is renamed while a server runs is continued in a new file, with its head as prev", () => {
  const file = open();
  file.write('{"act":"a"}');
  renameSync(path, `${path}.1`);
  file.write('{"act":"b"}');
  renameSync(path, `${path}.2`);
  file.reopen();
  file.close();
  expect(verify([`${path}.1`, `${path}.2`, path])).toMatchObject({ lines: 4, firstSeq: 1, problem: null });
  expect(linesOf().map((line) => JSON.parse(line) as object)).toMatchObject([{ event: "continued", seq: 4 }]);
  // A part of the chain is in order by itself, and says that it is one.
  expect(verify([`${path}.2`, path])).toMatchObject({ firstSeq: 2, problem: null });
  expect(verify([`${path}.2`, `${path}.1`]).problem).toMatchObject({
    kind: "restarted",
    file: `${path}.1`,
    line: 1,
  });
  expect(verify([`${path}.1`, path]).problem).toMatchObject({ kind: "missing", line: 1 });
});

it("lines that are cut off while a server runs are missed by the lines after them", () => {
  const file = open();
  for (const act of ["a", "b", "c"]) file.write(JSON.stringify({ act }));
  truncateSync(path, (linesOf()[0] ?? "").length + 1);
  file.write('{"act":"d"}');
  file.close();
  expect(verify().problem).toMatchObject({
    kind: "missing",
    line: 2,
    message: "the 2 lines with seq 2 to 3 are missing before this line",
  });
});

it("a deleted file is begun again with the head of the old one", () => {
  const file = open();
  file.write('{"act":"a"}');
  rmSync(path);
  file.write('{"act":"b"}');
  file.close();
  expect(verify()).toMatchObject({ firstSeq: 2, lines: 2, problem: null });
});

it.each<[string, string, number | null, (lines: string[]) => readonly string[]]>([
  ["a changed line", "changed", 2, ([a = "", b = "", ...rest]) => [a, b.replace('"b"', '"B"'), ...rest]],
  ["a removed line", "missing", 2, ([a = "", , ...rest]) => [a, ...rest]],
  ["two lines in the wrong order", "missing", 2, ([a = "", b = "", c = "", d = ""]) => [a, c, b, d]],
  ["a repeated line", "reordered", 3, ([a = "", b = "", ...rest]) => [a, b, b, ...rest]],
  ["an inserted line", "not-chained", 2, ([a = "", ...rest]) => [a, '{"act":"x"}', ...rest]],
  ["an empty line", "not-chained", 2, ([a = "", ...rest]) => [a, "", ...rest]],
  ["an inserted line at the end", "not-chained", 5, (lines) => [...lines, '{"act":"x"}']],
])("%s is found in its place", (_case, kind, line, change) => {
  write("a", "b", "c", "d");
  edit(change);
  expect(verify().problem).toMatchObject({ kind, file: path, line });
});

it("a line of another chain with the right seq is found, and so is a chain that begins again", () => {
  write("a", "b", "c");
  const other = `${path}.other`;
  const real = path;
  path = other;
  write("x", "y", "z");
  const [foreignFirst = "", foreignSecond = ""] = linesOf(other);
  path = real;
  edit(([a = "", , c = ""]) => [a, foreignSecond, c]);
  expect(verify().problem).toMatchObject({ kind: "replaced", line: 2 });
  writeFileSync(path, `${linesOf()[0]}\n${foreignFirst}\n`);
  expect(verify().problem).toMatchObject({ kind: "restarted", line: 2 });
});

it("a cut off end is found by a head that was kept elsewhere, and only by it", () => {
  write("a", "b", "c");
  const { head } = verify();
  const kept = head?.hash ?? "";
  expect(verify([path], kept).problem).toBeNull();
  write("d");
  expect(verify([path], kept).problem).toBeNull();
  edit((lines) => lines.slice(0, 2));
  expect(verify()).toMatchObject({ lines: 2, problem: null });
  expect(verify([path], kept).problem).toMatchObject({ kind: "truncated", line: null });
});

it("a file that cannot be written is reported, and the service goes on", () => {
  const file = open();
  file.write('{"act":"a"}');
  file.close();
  // Its descriptor is closed: every write fails.
  expect(() => file.write('{"act":"b"}')).not.toThrow();
  expect(problems).toEqual([`${path} cannot be written: audit entries are lost`]);
});
