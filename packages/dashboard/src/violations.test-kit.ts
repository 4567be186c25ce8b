/** What axe-core (WCAG 2.2 AA and best practices) and the width of the screen find wrong with a page. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults, RunOptions } from "axe-core";
import type { WatchedPage } from "./browser.test-kit.js";

/** To be run in the page before `violations`. */
export const AXE: string = readFileSync(
  createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
  "utf8",
);

const WIDTHS = [390, 1024, 1920];

declare const axe: { run: (options: RunOptions) => Promise<AxeResults> };

/** The violations at each width, light and dark, each with the first element that shows it. */
export async function violations({ page }: WatchedPage): Promise<readonly string[]> {
  const found: string[] = [];
  for (const width of WIDTHS) {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const results = await page.evaluate(() => axe.run({ resultTypes: ["violations"] }));
      // Nothing is wider than the screen.
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      const at = `${width} px, ${colorScheme}`;
      if (isWide) found.push(`${at}: the page scrolls sideways`);
      found.push(
        ...results.violations.map(
          ({ id, nodes }) => `${at}: ${id} ${nodes[0]?.html} ${nodes[0]?.failureSummary}`,
        ),
      );
    }
  }
  return found;
}
