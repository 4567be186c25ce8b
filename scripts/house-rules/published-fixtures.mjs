/** What the rules on published packages refuse and what they let pass. */
const HOME = "https://example.org/a";
const lock = (packages) => JSON.stringify({ packages });
const manifest = (fields = {}) =>
  JSON.stringify({
    type: "module",
    license: "Apache-2.0",
    engines: { node: ">=20" },
    files: ["dist"],
    keywords: ["lease"],
    sideEffects: false,
    homepage: `${HOME}/tree/main/packages/core#readme`,
    bugs: `${HOME}/issues`,
    repository: { type: "git", url: `git+${HOME}.git`, directory: "packages/core" },
    ...fields,
  });
const manifestOfRoot = (fields = {}) => ({
  "package.json": JSON.stringify({
    engines: { node: ">=20.19" },
    repository: { url: `git+${HOME}.git` },
    ...fields,
  }),
});

export const AT_EXAMPLE = manifestOfRoot();
const REQUIRED = ["type", "license", "engines", "files", "keywords", "sideEffects"];

export const PUBLISHED_FIXTURES = {
  "complete-manifest": {
    bad: [
      ...REQUIRED.map((field) => [
        "packages/core/package.json:1",
        { ...AT_EXAMPLE, "packages/core/package.json": manifest({ [field]: undefined }) },
      ]),
      ...[{ bugs: `${HOME}b/issues` }, { homepage: HOME }, { repository: `git+${HOME}.git` }].map(
        (fields) => [
          "packages/core/package.json:1",
          { ...AT_EXAMPLE, "packages/core/package.json": manifest(fields) },
        ],
      ),
    ],
    good: [
      {
        ...AT_EXAMPLE,
        "packages/core/package.json": manifest(),
        "simulation/package.json": JSON.stringify({ private: true, type: "module" }),
      },
    ],
  },
  "readme-outside-of-the-repository": {
    bad: [
      [
        "packages/core/README.md:2",
        {
          ...AT_EXAMPLE,
          "packages/core/package.json": manifest(),
          "packages/core/README.md": "\n[b](../b/README.md)",
        },
      ],
    ],
    good: [
      {
        ...AT_EXAMPLE,
        "packages/core/package.json": manifest(),
        "packages/core/README.md": `[b](${HOME}/blob/main/b) [up](#top) [proto](proto/a.proto)`,
        "examples/package.json": JSON.stringify({ private: true }),
        "examples/README.md": "[up](../README.md)",
      },
    ],
  },
  "quiet-install": {
    bad: [
      {
        "node_modules/a": { engines: { node: ">= 22.x" } },
      },
      { "node_modules/a": { hasInstallScript: true } },
    ].map((packages) => ["package-lock.json:1", { ...AT_EXAMPLE, "package-lock.json": lock(packages) }]),
    good: [
      {
        ...manifestOfRoot({ allowScripts: { c: false } }),
        "package-lock.json": lock({
          "node_modules/a": { engines: { node: "^20.19.0 || >=22.12.0" } },
          "node_modules/b": { engines: { node: ">=22" }, optional: true },
          "node_modules/b/node_modules/c": { hasInstallScript: true },
        }),
      },
    ],
  },
};
