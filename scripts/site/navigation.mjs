/** The order in which the site lists its pages. A page that is not named comes at the end of its section, by title. */
const SECTIONS = [
  ["Start", ["README.md", "docs/TUTORIAL.md", "docs/INSTALL.md"], /^$/],
  ["Guides", ["docs/guides/README.md"], /^docs\/guides\//],
  [
    "Use",
    [
      "packages/client/README.md",
      "docs/CLIENT.md",
      "packages/fence/README.md",
      "docs/COMMAND.md",
      "docs/HTTP.md",
    ],
    /^examples\//,
  ],
  [
    "Run",
    ["docs/STORES.md", "docs/DEPLOYMENT.md", "docs/OPERATIONS.md", "docs/HARDENING.md", "docs/ERRORS.md"],
    /^(?:docs|deploy)\//,
  ],
  ["Packages", [], /^packages\//],
  ["Project", ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"], /^[A-Z]\w*\.md$/],
];

const TITLES = {
  "README.md": "Overview",
  "docs/CLIENT.md": "Client reference",
  "docs/guides/README.md": "All guides",
};

export function navigation(pages) {
  const byFile = new Map(pages.map((page) => [page.file, page]));
  const sections = SECTIONS.map(([title, named]) => ({
    title,
    pages: named.filter((file) => byFile.delete(file)),
  }));
  const left = [...byFile.values()].toSorted((a, b) => a.title.localeCompare(b.title));
  for (const { file } of left) {
    const index = SECTIONS.findIndex(([, , pattern]) => pattern.test(file));
    sections[index].pages.push(file);
  }
  const all = new Map(pages.map((page) => [page.file, page]));
  return sections
    .filter(({ pages: files }) => files.length > 0)
    .map(({ title, pages: files }) => ({
      title,
      pages: files.map((file) => ({ title: TITLES[file] ?? all.get(file).title, path: all.get(file).path })),
    }));
}
