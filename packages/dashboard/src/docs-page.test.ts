/** The page at /docs, in a real browser. */
import { VERBS } from "@tenure/api";
import { isMissing } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Browser } from "./browser.test-kit.js";
import { faintTexts } from "./contrast.test-kit.js";
import { Tenure } from "./tenure.test-kit.js";

describe.skipIf(isMissing("chromium"))("the page /docs", () => {
  let tenure: Tenure;
  let browser: Browser;
  beforeAll(async () => {
    tenure = await Tenure.start();
    browser = await Browser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await tenure?.close();
  });

  it("/docs lists every route with its fields, and leads back to the dashboard", async () => {
    const watched = await browser.open(`${tenure.url}/docs`);
    const { page } = watched;
    await page.waitForSelector("main > details");
    const shown = await page.$$eval("main > details > summary", (all) =>
      all.map((each) =>
        [...each.children]
          .slice(0, 2)
          .map((part) => part.textContent)
          .join(" "),
      ),
    );
    const routes = Object.values(VERBS).map(({ method, path }) => `${method} ${path}`);
    expect(shown.toSorted()).toEqual(routes.toSorted());

    await page.getByText("/v1/samples", { exact: true }).click();
    const sample = page.locator("details[open] table", { hasText: "samples[].failover_max_ms" });
    expect(await sample.innerText()).toContain("null");
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await page.evaluate(faintTexts)).toEqual([]);
    }
    await page.setViewportSize({ width: 390, height: 844 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);

    await watched.shoot("docs");
    await page.getByRole("link", { name: "Dashboard" }).click();
    await page.waitForURL(`${tenure.url}/`);
    expect([watched.errors, watched.foreign]).toEqual([[], []]);
    await watched.close();
  });
});
