/** `npm run site`: writes the documentation as a static site to `site/`, which opens from the disk, without a server. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkNode, ensureInstalled, main, root, ScriptError } from "./setup.mjs";

await main(async () => {
  checkNode(process.versions.node);
  await ensureInstalled();
  const { buildSite } = await import("./site/build.mjs");
  const { files, problems, pages } = buildSite(root);
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) throw new ScriptError(`${problems.length} dead links.`);
  const directory = join(root, "site");
  rmSync(directory, { recursive: true, force: true });
  for (const [path, content] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
  console.log(`${pages.length} pages in site/; open site/index.html`);
});
