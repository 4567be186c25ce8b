import { describe, expect, it } from "vitest";
import { ALLOWED } from "./house-rules/dependencies.mjs";
import { FIXTURES, lines } from "./house-rules/fixtures.mjs";
import { fileLength, testsDoNotSleep } from "./house-rules/source.mjs";
import { checkRepository, checkTree, RULES } from "./house-rules.mjs";

const check = (rule, files) => checkTree(new Map(Object.entries(files)), { [rule]: RULES[rule] });

it("the repository keeps the house rules", () => {
  expect(checkRepository()).toEqual([]);
});

it("every rule has a fixture that breaks it", () => {
  expect(Object.keys(FIXTURES).toSorted()).toEqual(Object.keys(RULES).toSorted());
});

describe.each(Object.entries(FIXTURES))("the house rule %s", (rule, { bad, good }) => {
  it.each(bad)("the rule finds its violation at %s", (place, files) => {
    const findings = check(rule, files);
    expect(findings).toHaveLength(1);
    expect(findings[0]).toContain(`${place}  ${rule}: `);
  });

  it.each(good.map((files) => [Object.keys(files).join(", "), files]))(
    "the rule accepts %s",
    (_names, files) => {
      expect(check(rule, files)).toEqual([]);
    },
  );
});

it("the table of allowed dependencies has no cycle", () => {
  const reach = (name, path) => {
    expect(path).not.toContain(name);
    const next = ALLOWED[name];
    for (const target of Array.isArray(next) ? next : []) reach(target, [...path, name]);
  };
  for (const name of Object.keys(ALLOWED)) reach(name, []);
});

it("an entry in an allow list needs a file that uses it, and a reason", () => {
  const tree = new Map([
    ["a.ts", lines(500)],
    ["a.test.ts", ["set", "Timeout(f)"].join("")],
  ]);
  expect(fileLength(tree, { "a.ts": "a table" })).toEqual([]);
  expect(fileLength(tree, { "a.ts": " " })).toHaveLength(1);
  expect(fileLength(tree, { "a.ts": "a table", "b.ts": "gone" })).toHaveLength(1);
  expect(testsDoNotSleep(tree, { "a.test.ts": "waits for a real process" })).toEqual([]);
  expect(testsDoNotSleep(new Map(), { "a.test.ts": "waits for a real process" })).toHaveLength(1);
});
