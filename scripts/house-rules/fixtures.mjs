/** What each house rule refuses and what it lets pass. */
import { AT_EXAMPLE, PUBLISHED_FIXTURES } from "./published-fixtures.mjs";

import { TEXT_FIXTURES } from "./text-fixtures.mjs";

/** Words that the rules look for, put together so that this file keeps the rules itself. */
const glue = (...parts) => parts.join("");
export const lines = (count) => "x;\n".repeat(count);
const manifest = (fields = {}) =>
  JSON.stringify(
    { type: "module", license: "Apache-2.0", engines: { node: ">=20" }, files: ["dist"], ...fields },
    null,
    2,
  );
const lock = (packages) => JSON.stringify({ packages });
const core = { "packages/core/package.json": manifest() };
const stores = { "packages/stores/package.json": manifest({ dependencies: { "@tenure/core": "0.1.0" } }) };
const client = { "packages/client/package.json": manifest({ dependencies: { "@tenure/core": "0.1.0" } }) };

/** Per rule: trees that break it, with where the finding must point, and trees that do not. */
export const FIXTURES = {
  ...PUBLISHED_FIXTURES,
  "dependency-direction": {
    bad: [
      [
        "packages/core/package.json:11",
        {
          "packages/core/package.json": manifest({ dependencies: { "@tenure/stores": "1" } }),
        },
      ],
      [
        "packages/stores/src/a.ts:2",
        { ...stores, "packages/stores/src/a.ts": 'a();\nimport { B } from "@tenure/client";' },
      ],
      [
        "packages/client/src/a.ts:1",
        { ...client, "packages/client/src/a.ts": 'export const b = import("@tenure/server/x");' },
      ],
      [
        "packages/client/src/a.ts:1",
        { ...client, "packages/client/src/a.ts": 'import "../../core/src/clock.js";' },
      ],
      [
        "packages/core/src/a.ts:1",
        { ...core, "packages/core/src/a.ts": 'export { B } from "@tenure/core";' },
      ],
      ["packages/novel/package.json:1", { "packages/novel/package.json": manifest() }],
    ],
    good: [
      {
        ...stores,
        "packages/stores/src/x/a.ts": 'import { B } from "@tenure/core/testing";\nimport "../b.js";',
      },
      {
        ...core,
        "packages/core/src/a.ts": '// once came from "@tenure/client"\n/* import "@tenure/cli"; */',
      },
      { "simulation/package.json": manifest(), "simulation/src/a.ts": 'import { B } from "@tenure/server";' },
    ],
  },
  "core-stands-alone": {
    bad: [
      [
        "packages/core/package.json:10",
        { "packages/core/package.json": manifest({ peerDependencies: { lmdb: "3" } }) },
      ],
      ["packages/core/src/a.ts:1", { ...core, "packages/core/src/a.ts": 'import fc from "fast-check";' }],
    ],
    good: [
      {
        ...core,
        "packages/core/src/a.ts": 'import os from "node:os";',
        "packages/core/src/a.test.ts": 'import fc from "fast-check";',
      },
    ],
  },
  "declared-dependencies": {
    bad: [
      [
        "packages/stores/src/a.ts:1",
        { ...stores, "packages/stores/src/a.ts": 'import { open } from "lmdb/x";' },
      ],
      [
        "packages/stores/src/a.test.ts:1",
        { ...stores, "packages/stores/src/a.test.ts": 'import { it } from "vitest";' },
      ],
      [
        "simulation/src/a.ts:1",
        { "simulation/package.json": manifest(), "simulation/src/a.ts": 'import "@tenure/core";' },
      ],
      [
        "packages/stores/src/a.ts:1",
        {
          ...stores,
          "package.json": JSON.stringify({ devDependencies: { vite: "8" } }),
          "packages/stores/src/a.ts": 'import { transformWithOxc } from "vite";',
        },
      ],
    ],
    good: [
      {
        ...stores,
        "package.json": JSON.stringify({ devDependencies: { vitest: "4" } }),
        "packages/stores/src/a.test.ts": 'import { it } from "vitest";',
        "packages/stores/src/a.test-kit.ts": 'import { it } from "vitest";',
        "packages/stores/src/a.ts": 'import { join } from "path";\nimport { B } from "@tenure/core/testing";',
      },
      {
        "package.json": JSON.stringify({ devDependencies: { vite: "8" } }),
        "simulation/package.json": manifest({ private: true }),
        "simulation/src/a.ts": 'import { transformWithOxc } from "vite";',
      },
    ],
  },
  "used-dependencies": {
    bad: [
      [
        "packages/stores/package.json:11",
        { "packages/stores/package.json": manifest({ dependencies: { lmdb: "1" } }) },
      ],
      [
        "packages/stores/package.json:11",
        {
          "packages/stores/package.json": manifest({ devDependencies: { "@types/pg": "1" } }),
          "packages/stores/src/a.ts": 'import "pgx";',
        },
      ],
    ],
    good: [
      {
        "packages/stores/package.json": JSON.stringify({
          name: "@tenure/stores",
          dependencies: { "@x/a": "1" },
          peerDependencies: { lmdb: "1" },
          devDependencies: { pg: "1", "@types/pg": "1" },
        }),
        "packages/stores/src/a.ts": 'import "@x/a/sub";\nawait import("lmdb");',
        "packages/stores/src/a.test.ts": 'import { Pool } from "pg";',
        "packages/server/package.json": manifest({ dependencies: { "@tenure/stores": "1", lmdb: "1" } }),
        "packages/server/src/a.ts": 'import "@tenure/stores";',
      },
    ],
  },
  "injected-time": {
    bad: [
      ["packages/core/src/a.ts:2", { "packages/core/src/a.ts": "\nconst now = Date.now();" }],
      ["packages/client/src/a.ts:1", { "packages/client/src/a.ts": "setTimeout(f, 1);" }],
      ["packages/peers/src/a.ts:1", { "packages/peers/src/a.ts": "Math.random();" }],
      ["packages/coordinator/src/x/a.ts:1", { "packages/coordinator/src/x/a.ts": "performance.now();" }],
      ["packages/core/src/a.ts:1", { "packages/core/src/a.ts": "at = new Date();" }],
      [
        "packages/core/src/a.ts:1",
        { "packages/core/src/a.ts": 'import { setTimeout as s } from "node:timers/promises";' },
      ],
    ],
    good: [
      { "packages/core/src/system-clock.ts": "Date.now();", "packages/core/src/a.test.ts": "Date.now();" },
      {
        "packages/core/src/a.ts":
          "// not Date.now()\n/** nor\n * Math.random() */\nnew Date(ms); clock.after(1, f); // setTimeout(",
      },
      { "packages/server/src/a.ts": "Date.now();" },
    ],
  },
  "abort-signals": {
    bad: [
      ["packages/core/src/a.ts:2", { "packages/core/src/a.ts": '\nsignal.addEventListener("abort", f);' }],
      ["packages/server/src/a.ts:1", { "packages/server/src/a.ts": 'x?.addEventListener("abort", f);' }],
      ["packages/cli/src/a.ts:2", { "packages/cli/src/a.ts": "\nAbortSignal.any([a, b]);" }],
    ],
    good: [
      { "packages/core/src/async/on-abort.ts": 'signal.addEventListener("abort", f);' },
      { "packages/core/src/a.test.ts": 'signal.addEventListener("abort", f); AbortSignal.timeout(5);' },
      { "packages/core/src/a.ts": "onAbort(signal, f); // not AbortSignal.any([])" },
      { "packages/dashboard/src/a.ts": "AbortSignal.timeout(5);" },
    ],
  },
  "tests-do-not-sleep": {
    bad: [
      ["packages/server/src/a.test.ts:1", { "packages/server/src/a.test.ts": "setTimeout(f, 1);" }],
      [
        "simulation/src/a.test.ts:1",
        { "simulation/src/a.test.ts": 'import { setTimeout } from "node:timers/promises";' },
      ],
    ],
    good: [
      {
        "packages/server/src/a.ts": "setTimeout(f, 1);",
        "packages/server/src/a.test.ts": "await clock.advance(5);",
      },
    ],
  },
  "file-length": {
    bad: [["packages/core/src/a.ts:401", { "packages/core/src/a.ts": lines(401) }]],
    good: [{ "packages/core/src/a.ts": lines(400), "docs/A.md": lines(900) }],
  },
  "tests-all-run": {
    bad: ["only", "skip", "todo", "fails"].flatMap((word) => [
      ["a.test.ts:1", { "a.test.ts": glue("it", ".", word, '("x");') }],
      ["a.test.mjs:2", { "a.test.mjs": glue("\n  describe", ".concurrent.", word, '("x");') }],
    ]),
    good: [{ "a.test.ts": 'it("x", f); it.each(rows)("y", f); queue.skip(2);' }],
  },
  "checks-stay-on": {
    bad: [
      ["a.ts:1", { "a.ts": glue("const x = y as ", "any;") }],
      ["a.ts:1", { "a.ts": glue("// @ts-", "ignore") }],
      ["a.ts:1", { "a.ts": glue("// @ts-", "nocheck -- whatever the reason") }],
      ["a.ts:1", { "a.ts": glue("// @ts-", "expect-error") }],
      ["a.mjs:2", { "a.mjs": glue("\n// oxlint-", "disable-next-line no-console") }],
    ],
    good: [
      { "a.ts": glue("// oxlint-", "disable-next-line no-console -- the command talks to people") },
      { "a.ts": glue("// @ts-", "expect-error -- a wrong key must not compile") },
      { "a.ts": glue("// as ", "any reader sees\nas(anyone);") },
    ],
  },
  "entry-re-exports": {
    bad: [
      ["packages/core/src/index.ts:2", { "packages/core/src/index.ts": '// x\nexport * from "./a.js";' }],
      [
        "packages/core/src/testing/index.ts:3",
        { "packages/core/src/testing/index.ts": 'export { a } from "./a.js";\n\nexport const b = 1;' },
      ],
    ],
    good: [
      {
        "packages/core/src/index.ts":
          '/**\n * What it promises.\n */\nexport { a, type B } from "./a.js"; // first\nexport type {\n  C,\n} from "./c.js";\n',
      },
      { "packages/core/src/x/y/index.ts": "run();", "simulation/src/index.ts": "run();" },
    ],
  },
  "kebab-case": {
    bad: [
      ["packages/core/src/StoreElector.ts:1", { "packages/core/src/StoreElector.ts": "" }],
      ["packages/core/src/my_rules/a.ts:1", { "packages/core/src/my_rules/a.ts": "" }],
    ],
    good: [
      {
        "packages/core/src/store-elector.test.ts": "",
        "vitest.config.ts": "",
        ".config/a.mjs": "",
        "docs/ERRORS.md": "",
      },
    ],
  },
  "no-machine-paths": {
    bad: [
      ["README.md:2", { "README.md": glue("\nsee /", "work/x") }],
      ["a.mjs:1", { "a.mjs": glue('"/', 'root/.cache"') }],
      ["a.md:1", { "a.md": glue("(/", "home/somebody/x)") }],
      ["a.md:1", { "a.md": glue("https:/", "/registry.npm", "js.org/x") }],
    ],
    good: [{ "README.md": "see ./work/x, packages/root/a and ~/home/x, https://example.org/work/" }],
  },
  "lock-without-hosts": {
    bad: [
      [
        "package-lock.json:2",
        { "package-lock.json": glue('\n"resolved": "https:/', "/registry.npm", 'js.org/x.tgz"') },
      ],
    ],
    good: [{ "package-lock.json": '"resolved": "packages/core"' }],
  },
  "lock-in-step": {
    bad: [
      [
        "packages/stores/package.json:10",
        { ...stores, "package-lock.json": lock({ "packages/stores": {} }) },
      ],
      [
        "package.json:1",
        { "package.json": "{}", "package-lock.json": lock({ "": { devDependencies: { a: "1" } } }) },
      ],
    ],
    good: [
      {
        ...stores,
        "package-lock.json": lock({ "packages/stores": { dependencies: { "@tenure/core": "0.1.0" } } }),
      },
    ],
  },
  "documented-errors": {
    bad: [
      [
        "packages/core/src/errors.ts:3",
        {
          "packages/core/src/errors.ts": 'export type ErrorCode =\n  | "A"\n  | "B_C";',
          "docs/ERRORS.md": "## `A`\nnot B_C",
        },
      ],
      [
        "packages/core/src/errors.ts:1",
        { "packages/core/src/errors.ts": "export {};", "docs/ERRORS.md": "" },
      ],
      [
        "packages/client/src/worker/errors.ts:2",
        {
          "packages/core/src/errors.ts": 'export type ErrorCode = "A";',
          "packages/client/src/worker/errors.ts": 'class D {\n  readonly code = "D_E";\n}',
          "docs/ERRORS.md": "## A\n## D",
        },
      ],
    ],
    good: [
      {
        "packages/core/src/errors.ts": 'export type ErrorCode = "A" | "B_C";',
        "docs/ERRORS.md": "## `A`\n## `B_C` (409)",
      },
    ],
  },
  "links-lead-somewhere": {
    bad: [
      ["README.md:3", { "README.md": "# A\n\nSee [b](docs/B.md).", "docs/C.md": "" }],
      ["docs/B.md:1", { "docs/B.md": "[up](../../README.md)", "README.md": "" }],
      ["docs/B.md:2", { "docs/B.md": "# Some *words*\n[here](#some-word)" }],
      ["README.md:1", { "README.md": "[b](docs/B.md#what)", "docs/B.md": "```\n# what\n```" }],
      ["README.md:5", { "README.md": "```\n[a](a)\n```\n`[b](b)`\n[c](c)" }],
      ["README.md:1", { ...AT_EXAMPLE, "README.md": "[a](https://example.org/a/blob/main/docs/A.md)" }],
      ["README.md:7", { "README.md": "A\n\n```\nx\n```\n\n[c](c)\n\n```\ny\n```" }],
    ],
    good: [
      {
        "README.md":
          "[b](docs/B.md#the-b_1-of-it) [folder](docs/) [top](#a) [out](https://example.org/x)\n# A",
        "docs/B.md": "## The `B_1` of it\n[up](../README.md) [again](B.md#same-1)\n# same\n# same",
      },
      { "docs/B.md": "`[a](nowhere)`\n```sh\n[b](nowhere)\n```" },
    ],
  },
  ...TEXT_FIXTURES,
};
