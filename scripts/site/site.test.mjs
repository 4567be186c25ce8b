/** The static site: built from the pages as they are, and opened from the disk in a real Chromium. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMissing } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Browser } from "../../packages/dashboard/src/browser.test-kit.ts";
import { AXE, violations } from "../../packages/dashboard/src/violations.test-kit.ts";
import { root } from "../setup.mjs";
import { buildSite } from "./build.mjs";
import { completeLinks } from "./links.mjs";
import { renderPage } from "./markdown.mjs";

const { files, problems, pages } = buildSite(root);

describe("the static site", () => {
  it("the site has every page, and no link leads nowhere", () => {
    expect(problems).toEqual([]);
    expect(pages.length).toBeGreaterThan(20);
    for (const path of ["index.html", "docs/TUTORIAL.html", "packages/client/index.html"]) {
      expect([...files.keys()]).toContain(path);
    }
  });

  it("a page of the site leads to other pages, whether it names them relatively or by the address of the repository", () => {
    const text = "[a](../docs/A.md#x) [b](https://host/tenure/blob/main/docs/A.md) [c](https://host/other)";
    const htmlOf = (file) => (file.endsWith(".md") ? file.replace(/\.md$/, ".html") : null);
    const { html } = renderPage("packages/B.md", text, { repository: "https://host/tenure", htmlOf });
    expect([...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)).toEqual([
      "../docs/A.html#x",
      "../docs/A.html",
      "https://host/other",
    ]);
  });

  it("the site's link check reports a missing page and a missing heading", () => {
    const links = '<h1 id="top"></h1> <a href="b.html"></a> <a href="../a.html#top"></a> <a href="#off"></a>';
    expect(completeLinks(new Map([["a.html", links]]), new Map(), () => "")).toEqual([
      "a.html: b.html leads nowhere",
      "a.html: ../a.html#top leads nowhere",
      "a.html: #off names a heading that a.html does not have",
    ]);
  });
});

describe.skipIf(isMissing("chromium"))("the static site in a browser", () => {
  const directory = mkdtempSync(join(tmpdir(), "tenure-site-"));
  const open = (path) => browser.open(pathToFileURL(join(directory, path)).href);
  let browser;
  beforeAll(async () => {
    for (const [path, content] of files) {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), content);
    }
    browser = await Browser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  it("the site finds a section by its words, without a server or a request to another host", async () => {
    const watched = await open("index.html");
    const { page } = watched;
    await page.keyboard.press("/");
    await page.keyboard.type("stale_term");
    await page.locator("#results a").first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/ERRORS\.html#stale_term/);
    await page.getByRole("heading", { name: "STALE_TERM" }).waitFor();
    expect([watched.errors, watched.foreign]).toEqual([[], []]);
    await watched.close();
  });

  it("the site passes axe and fits the screen on a phone and on a wide screen, light and dark", async () => {
    const watched = await open("index.html");
    await watched.page.evaluate(AXE);
    expect(await violations(watched)).toEqual([]);
    await watched.shoot("site");
    await watched.close();
  });
});
