/** What the rules on texts refuse and what they let pass: words, and comments of options. */

/** A package whose entry exports options with this member. */
const optionsFile = (member) => ({
  "packages/a/package.json": JSON.stringify({
    name: "@tenure/a",
    exports: { ".": { types: "./dist/index.d.ts" } },
  }),
  "packages/a/src/index.ts": 'export type { AOptions } from "./options.js";',
  "packages/a/src/options.ts": `export interface AOptions {\n${member}\n}`,
});

export const TEXT_FIXTURES = {
  "plain-messages": {
    bad: [
      ...[
        "whoever asked",
        "the one who asks",
        "wait so long",
        "after so many events",
        "stop, lest it fails",
        "be it a node",
        "ended of its own will",
        "the leader was told to stop",
        "mend the URL",
        "campaign anew",
        "nobody leads it",
        "no one wins",
        "a leads no more",
        "a sign of life",
        "billing elects again",
        "servers, by comma",
        "the port cannot be had",
        "stopping; ask another",
        "its lease ran out",
        "among the waiting",
        "5 in order",
      ].map((words) => [
        "packages/cli/src/a.ts:2",
        { "packages/cli/src/a.ts": `\nsay(${JSON.stringify(words)});` },
      ]),
      [
        "packages/server/src/a.ts:1",
        { "packages/server/src/a.ts": `const a = { b: \`nobody \${c}\` } as const;` },
      ],
      ["packages/a/src/a.tsx:1", { "packages/a/src/a.tsx": "const a = <p>Nobody leads.</p>;" }],
      ["simulation/src/a.ts:1", { "simulation/src/a.ts": 'say("nobody leads it");' }],
      ["scripts/a.mjs:1", { "scripts/a.mjs": 'say("mend it");' }],
    ],
    good: [
      {
        "packages/cli/src/a.ts":
          '// nobody, told\nimport { lest } from "./so many/whoever.js";\nconst nobody: "who asks" = told(anew.mend);',
      },
      {
        "packages/cli/src/a.ts":
          'say("nobody", "the commend endpoint", "in order to win", "the events in order", "told");',
      },
      { "packages/cli/src/a.test.ts": 'say("nobody leads it");' },
    ],
  },
  "plain-titles": {
    bad: [
      ["packages/api/src/a.test.ts:1", { "packages/api/src/a.test.ts": 'it("elects nobody", f);' }],
      ["packages/a/src/a.test.ts:1", { "packages/a/src/a.test.ts": "test.each(rows)(`told anew %s`, f);" }],
      ["packages/api/src/a.test.ts:1", { "packages/api/src/a.test.ts": 'describe("whoever", f);' }],
      ["scripts/a.test.mjs:1", { "scripts/a.test.mjs": 'it("elects nobody", f);' }],
    ],
    good: [{ "packages/api/src/a.test.ts": 'it("elects a node", () => expect(a).toBe("nobody leads it"));' }],
  },
  "plain-pages": {
    bad: [
      ["docs/A.md:2", { "docs/A.md": "# A\nNobody leads it." }],
      ["README.md:5", { "README.md": "```sh\nanew\n```\n\nIt campaigns `anew` anew." }],
    ],
    good: [{ "docs/A.md": "```js\nmend(anew);\n```\nThe label `nobody` of the metric." }],
  },
  "documented-options": {
    bad: [
      ["packages/a/src/options.ts:3", optionsFile("  /** How often. */\n  readonly everyMs?: number;")],
      ["packages/a/src/options.ts:2", optionsFile("  readonly everyMs?: number;")],
    ],
    good: [
      optionsFile("  /** How often. @defaultValue 5 */\n  readonly everyMs?: number;"),
      optionsFile("  readonly everyMs: number;"),
      { ...optionsFile("  readonly everyMs?: number;"), "packages/a/src/index.ts": "" },
    ],
  },
};
