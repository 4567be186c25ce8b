/** Rules on source files: injected time, short files, honest tests, checks left on, plain entries, names. */
import { findLines, isCode, isTest, lineAt, select, withoutComments } from "./tree.mjs";

const MAX_FILE_LINES = 400;

/** Files that may be longer, each with its reason. An entry that is no longer needed is a finding too. */
export const LONG_FILES = {};

/** Tests that may wait in real time, each with its reason. */
export const SLEEPING_TESTS = {};

const INJECTED = /^packages\/(?:core|client|peers|coordinator)\/src\//;
const TIME_OR_CHANCE =
  /\b(?:Date\.now|setTimeout|setInterval|Math\.random|performance\.now)\s*\(|\bnew Date\(\s*\)|"(?:node:)?timers(?:\/promises)?"/;
const SLEEP = /\b(?:setTimeout|setInterval)\s*\(|"(?:node:)?timers(?:\/promises)?"/;

export const sourceRules = {
  "injected-time": (tree) =>
    select(
      tree,
      (file) => INJECTED.test(file) && isCode(file) && !isTest(file) && !file.endsWith("/system-clock.ts"),
    ).flatMap(({ file, text }) =>
      findLines(file, withoutComments(text), TIME_OR_CHANCE, ([found]) => {
        return `${found.trim()} is time or chance of its own; take the Clock or the seed that is passed in`;
      }),
    ),
  "abort-signals": (tree) =>
    select(
      tree,
      // The dashboard runs in browsers and does not use core.
      (file) =>
        /^packages\/(?!dashboard\/)/.test(file) &&
        isCode(file) &&
        !/\.test|\/fixtures\//.test(file) &&
        !file.endsWith("/async/on-abort.ts"),
    ).flatMap(({ file, text }) => abortSignals(file, withoutComments(text))),
  "tests-do-not-sleep": (tree) => testsDoNotSleep(tree),
  "file-length": (tree) => fileLength(tree),
  "tests-all-run": (tree) =>
    select(tree, isTest).flatMap(({ file, text }) =>
      findLines(
        file,
        withoutComments(text),
        /\b(?:it|test|describe|bench|suite)\b[.\w]*\.(?:only|skip|todo|fails)\b/,
        ([found]) => {
          return `${found} switches tests off or singles one out; fix the test or remove it`;
        },
      ),
    ),
  "checks-stay-on": (tree) => select(tree, isCode).flatMap(({ file, text }) => checksStayOn(file, text)),
  "entry-re-exports": (tree) =>
    select(tree, (file) => /^packages\/[^/]+\/src\/(?:[^/]+\/)?index\.ts$/.test(file)).flatMap(
      ({ file, text }) => entryReExports(file, text),
    ),
  "kebab-case": (tree) =>
    select(tree, (file) => isCode(file) || /\/src\//.test(file))
      .filter(
        ({ file }) =>
          !file
            .split("/")
            .every((part) => /^\.?[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*$/.test(part)),
      )
      .map(({ file }) => ({ file, line: 1, problem: "the path is not kebab-case; rename it" })),
};

function abortSignals(file, text) {
  return [
    ...findLines(file, text, /\.addEventListener\(\s*"abort"/, () => {
      return "a listener for each call on a signal that many calls share costs their square; take onAbort of core";
    }),
    ...findLines(file, text, /\bAbortSignal\.(?:any|timeout)\(/, () => {
      return "the derived signal leaks, or is collected before it aborts; take LinkedController or within of core";
    }),
  ];
}

export function testsDoNotSleep(tree, allowed = SLEEPING_TESTS) {
  const found = select(tree, isTest).flatMap(({ file, text }) =>
    findLines(file, withoutComments(text), SLEEP, ([match]) => {
      return `${match.trim()} in a test; inject a clock or await an event (or give a reason in SLEEPING_TESTS)`;
    }),
  );
  return [
    ...found.filter(({ file }) => !Object.hasOwn(allowed, file)),
    ...staleEntries(allowed, found, "SLEEPING_TESTS"),
  ];
}

export function fileLength(tree, allowed = LONG_FILES) {
  const found = select(tree, isCode).flatMap(({ file, text }) => {
    const lines = text.replace(/\n$/, "").split("\n").length;
    if (lines <= MAX_FILE_LINES) return [];
    const problem = `${lines} lines, more than ${MAX_FILE_LINES}; look for the second noun in it (or give a reason in LONG_FILES)`;
    return [{ file, line: MAX_FILE_LINES + 1, problem }];
  });
  return [
    ...found.filter(({ file }) => !Object.hasOwn(allowed, file)),
    ...staleEntries(allowed, found, "LONG_FILES"),
  ];
}

function staleEntries(allowed, found, name) {
  return Object.entries(allowed)
    .filter(([file, reason]) => reason.trim() === "" || !found.some((finding) => finding.file === file))
    .map(([file, reason]) => {
      const problem =
        reason.trim() === "" ? `its entry in ${name} gives no reason` : `needs no entry in ${name} any more`;
      return { file, line: 1, problem: `${problem}; fix the list` };
    });
}

function checksStayOn(file, text) {
  const switchedOff = ([found]) =>
    `${found} switches the types off; say what the type is, or take unknown and check it`;
  const reasoned = /(?:(?:ox|es)lint-disable[-\w]*|@ts-(?:expect-error))(?!.*\s--\s+\S)/;
  return [
    ...findLines(file, withoutComments(text), /\bas any\b/, switchedOff),
    ...findLines(file, text, /@ts-(?:ignore|nocheck)\b/, switchedOff),
    ...findLines(file, text, reasoned, ([found]) => `${found} gives no reason; add one after " -- "`),
  ];
}

function entryReExports(file, text) {
  const blank = (matched) => matched.replace(/[^\n]/g, " ");
  const rest = withoutComments(text).replace(/export (?:type )?\{[^}]*\} from "[^"]+";/g, blank);
  const index = rest.search(/\S/);
  if (index < 0) return [];
  return [
    {
      file,
      line: lineAt(rest, index),
      problem: "an entry re-exports by name and does nothing else; move this to a file of its own",
    },
  ];
}
