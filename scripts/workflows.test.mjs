import { execFileSync } from "node:child_process";
import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { root } from "./setup.mjs";

const GITHUB = join(root, ".github");
const read = (file) => parse(readFileSync(join(GITHUB, file), "utf8"));
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const workflows = readdirSync(join(GITHUB, "workflows"));

/** What a job may have besides reading the repository. */
const PERMISSIONS = { publish: { "id-token": "write" }, announce: { contents: "write" } };

describe.each(workflows)("the workflow %s", (file) => {
  const { on, permissions, jobs } = read(`workflows/${file}`);
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const runs = steps.flatMap(({ run }) => (run === undefined ? [] : [run]));

  it("the workflow calls only scripts and files that exist", () => {
    const called = runs.flatMap((run) => [...run.matchAll(/\bnpm (?:run )?(test|start|(?<=run )[\w:]+)/g)]);
    for (const [, script] of called) expect(Object.keys(scripts)).toContain(script);
    const files = runs.flatMap((run) => [...run.matchAll(/(?:^|\s)(\.ci\/\w+)/g)]);
    for (const [, path] of files) accessSync(join(root, path), constants.X_OK);
    expect(called.length + files.length).toBeGreaterThan(0);
  });

  it("the workflow reads the repository, and only named jobs may do more", () => {
    expect(on).not.toHaveProperty("pull_request_target");
    expect(permissions).toEqual({ contents: "read" });
    for (const [name, job] of Object.entries(jobs))
      expect([name, job.permissions]).toEqual([name, PERMISSIONS[name]]);
  });

  it("the workflow pins actions to a major version, and limits the time of each job", () => {
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^actions\/[\w-]+@v\d+$/);
    for (const [name, job] of Object.entries(jobs))
      expect([name, job["timeout-minutes"] > 0]).toEqual([name, true]);
    for (const { needs } of Object.values(jobs))
      if (needs !== undefined) expect(Object.keys(jobs)).toContain(needs);
  });

  it("the workflow has no shell code with a syntax error, or with text from outside put into it", () => {
    for (const run of runs) {
      execFileSync("bash", ["-n"], { input: run });
      expect(run).not.toContain("${{");
    }
  });
});

it("the workflows test the oldest and the newest supported versions of Node", () => {
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const { node } = read("workflows/ci.yml").jobs.linux.strategy.matrix;
  expect(node).toEqual([Number(/\d+/.exec(engines.node)?.[0]), 22, 24]);
});

it("the issue forms have a name, a description and fields with labels", () => {
  const forms = readdirSync(join(GITHUB, "ISSUE_TEMPLATE")).filter((file) => file !== "config.yml");
  expect(forms).toHaveLength(2);
  for (const file of forms) {
    const { name, description, body } = read(`ISSUE_TEMPLATE/${file}`);
    expect([file, typeof name, typeof description]).toEqual([file, "string", "string"]);
    for (const { type, attributes } of body)
      expect([type, typeof (attributes.label ?? attributes.value)]).toEqual([type, "string"]);
  }
  const { contact_links: links } = read("ISSUE_TEMPLATE/config.yml");
  expect(links.map(({ url }) => url)).toEqual([expect.stringMatching(/\/security\/advisories\/new$/)]);
});
