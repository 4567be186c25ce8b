/**
 * `npm run pictures`: follows docs/TUTORIAL.md and photographs what its `picture` comments name, light and dark, into
 * docs/pictures. Look at the pictures before you commit them.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { main, root, setUp } from "./setup.mjs";

const PAGE = "docs/TUTORIAL.md";
const FOLDER = join(root, "docs/pictures");
const VIEWPORT = { width: 1040, height: 490 };

await main(async () => {
  await setUp();
  const { Reader } = await import("../packages/cli/dist/docs/reader.test-kit.js");
  const { Browser } = await import("../packages/dashboard/dist/browser.test-kit.js");
  const browser = await Browser.launch();
  const reader = new Reader({
    photograph: async (name, url) => {
      const watched = await browser.open(url);
      await photograph(watched.page, name);
      await watched.close();
    },
  });
  try {
    await reader.follow(PAGE, readFileSync(join(root, PAGE), "utf8"));
  } finally {
    await reader.close();
    await browser.close();
  }
});

async function photograph(page, name) {
  mkdirSync(FOLDER, { recursive: true });
  await page.setViewportSize(VIEWPORT);
  await page.emulateMedia({ reducedMotion: "reduce" });
  // Members and history have been loaded.
  await page.getByText("lease expired").first().waitFor();
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const file = join(FOLDER, `${name}-${colorScheme}.png`);
    const picture = await page.screenshot();
    writeFileSync(file, picture);
    console.log(`docs/pictures/${name}-${colorScheme}.png: ${Math.round(picture.length / 1024)} KiB`);
  }
}
