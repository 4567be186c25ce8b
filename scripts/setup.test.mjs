import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkNode, pageSources, whyInstall } from "./setup.mjs";
import { Progress, tally } from "./tally-reporter.mjs";

describe("checkNode", () => {
  it.each(["20.19.0", "20.20.2", "22.0.0", "24.1.0"])("Node %s is new enough", (version) => {
    expect(() => checkNode(version)).not.toThrow();
  });

  it.each(["20.18.9", "18.20.0", "9.0.0"])("Node %s is refused in one sentence", (version) => {
    expect(() => checkNode(version)).toThrow(`Tenure needs Node 20.19.0 or newer; this is Node ${version}.`);
  });
});

describe("whyInstall", () => {
  const a = { version: "1.0.0", integrity: "sha512-a" };
  let directory;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "tenure-setup-"));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  const write = (path, content) => {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), typeof content === "string" ? content : JSON.stringify(content));
  };
  const install = (wanted, installed) => {
    write("package-lock.json", { packages: { "": {}, "packages/core": {}, ...wanted } });
    write("node_modules/.package-lock.json", { packages: installed });
    for (const path of Object.keys(installed)) write(`${path}/package.json`, {});
  };

  it("dependencies that match the lock file are not installed again", () => {
    install({ "node_modules/a": a }, { "node_modules/a": a });
    expect(whyInstall(directory)).toBeNull();
  });

  it("dependencies may lack optional packages of other platforms", () => {
    install(
      { "node_modules/a": a, "node_modules/b": { version: "1.0.0", optional: true } },
      { "node_modules/a": a },
    );
    expect(whyInstall(directory)).toBeNull();
  });

  it("dependencies are installed when there are none, or when an install was interrupted", () => {
    write("package-lock.json", { packages: {} });
    expect(whyInstall(directory)).toBe("there are none yet");
    write("node_modules/.package-lock.json", '{ "packages": {');
    expect(whyInstall(directory)).toBe("there are none yet");
  });

  it("dependencies are installed again when one is missing, has another version or content, or is gone from the disk", () => {
    install({ "node_modules/a": a }, {});
    expect(whyInstall(directory)).toBe("node_modules/a is missing");
    install({ "node_modules/a": a }, { "node_modules/a": { ...a, version: "0.9.0" } });
    expect(whyInstall(directory)).toBe("node_modules/a is out of date");
    install({ "node_modules/a": a }, { "node_modules/a": { ...a, integrity: "sha512-b" } });
    expect(whyInstall(directory)).toBe("node_modules/a is out of date");
    install({ "node_modules/a": a }, { "node_modules/a": a });
    rmSync(join(directory, "node_modules/a"), { recursive: true });
    expect(whyInstall(directory)).toBe("node_modules/a is missing");
  });

  it("dependencies are installed again when they were installed for another platform", () => {
    install({ "node_modules/a": a }, { "node_modules/a": a });
    write("node_modules/.tenure-platform", "plan9-mips");
    expect(whyInstall(directory)).toContain("they were installed for plan9-mips, this is ");
  });

  it("dependencies cannot be installed without a lock file", () => {
    expect(() => whyInstall(directory)).toThrow("package-lock.json is missing or not JSON.");
  });
});

describe("pageSources", () => {
  let directory;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "tenure-setup-"));
    for (const path of ["index.html", "vite.config.mjs", "src/main.tsx", "src/views/app.tsx"])
      write(path, "1");
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  const write = (path, content) => {
    const file = join(directory, "packages/dashboard", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  };

  it("the digest of the dashboard's page depends on its sources and on the lock file, not on its tests", () => {
    const before = pageSources(directory);
    write("src/views/app.test.ts", "1");
    write("src/browser.test-kit.ts", "1");
    expect(pageSources(directory)).toBe(before);
    const digests = [before];
    for (const path of ["index.html", "src/views/app.tsx", "src/views/new.css", "../../package-lock.json"]) {
      write(path, "2");
      digests.push(pageSources(directory));
    }
    expect(new Set(digests).size).toBe(5);
  });
});

describe("tally", () => {
  const test = (state) => ({ result: () => ({ state }) });
  const module = ({ tests = [], errors = [], suiteErrors = [] }) => ({
    errors: () => errors,
    children: { allSuites: () => [{ errors: () => suiteErrors }], allTests: () => tests.map(test) },
  });

  it("the tally counts tests by their result, and tests that never ran as skipped", () => {
    const modules = [
      module({ tests: ["passed", "failed"] }),
      module({ tests: ["passed", "skipped", "pending"] }),
    ];
    expect(tally(modules, [])).toEqual({ passed: 2, failed: 1, skipped: 2 });
  });

  it("the tally counts a file that does not load, a hook that throws and an uncaught error as failures", () => {
    const modules = [
      module({ errors: [new Error("no such module")] }),
      module({ suiteErrors: [new Error("beforeAll")] }),
    ];
    expect(tally(modules, [new Error("uncaught")])).toEqual({ passed: 0, failed: 3, skipped: 0 });
  });
});

it("the progress of a run names files, tests, failures and the file that has run for longest", () => {
  const progress = new Progress(418, 0);
  progress.started("a.test.ts", 1000);
  progress.started("b.test.ts", 2000);
  progress.tested("passed");
  progress.tested("failed");
  expect(progress.line(31_000)).toBe(
    "0 min 31 s: 0 of 418 files, 2 tests, 1 failed; longest: a.test.ts (30 s)",
  );
  progress.ended("a.test.ts");
  expect(progress.line(92_000)).toBe(
    "1 min 32 s: 1 of 418 files, 2 tests, 1 failed; longest: b.test.ts (90 s)",
  );
  progress.ended("b.test.ts");
  expect(progress.line(92_000)).toBe("1 min 32 s: 2 of 418 files, 2 tests, 1 failed");
});
