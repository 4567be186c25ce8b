/** The messages that the guide to troubleshooting quotes are those of the sources. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PACKAGES, ROOT } from "./tarballs.test-kit.js";

const GUIDE = readFileSync(join(ROOT, "docs/guides/troubleshooting.md"), "utf8");

/** The texts of all sources, each expression of a template as a line feed, and texts that are put together by `+` as one. */
const SOURCES = PACKAGES.flatMap((name) => {
  const folder = join(ROOT, "packages", name, "src");
  return (readdirSync(folder, { recursive: true }) as string[])
    .filter((file) => /\.tsx?$/.test(file) && !/\.test(?:-kit)?\.tsx?$/.test(file))
    .map((file) => readFileSync(join(folder, file), "utf8"));
})
  .join("\n")
  .replaceAll(/\$\{[^{}]*\}/g, "\n")
  .replaceAll(/["`]\s*\+\s*["`]/g, "");

/** The first cells of the rows of tables whose first column is headed `message`. */
function messagesIn(page: string): string[] {
  return page
    .split(/\n\n+/)
    .filter((part) => /^\| message +\|/.test(part))
    .flatMap((part) => part.split("\n").slice(2))
    .map((row) => /^\| `([^`]+)`/.exec(row)?.[1] ?? `no message: ${row}`);
}

/** The parts of a message that do not differ. */
function fixedPartsOf(message: string): string[] {
  return message
    .split("…")
    .map((part) => part.trim())
    .filter((part) => part.length > 2);
}

describe("the guide to troubleshooting", () => {
  test("the guide to troubleshooting quotes messages as the sources have them", () => {
    const messages = messagesIn(GUIDE);
    expect(messages.length).toBeGreaterThan(20);
    const unknown = messages.filter((message) => {
      const parts = fixedPartsOf(message);
      return parts.join("").length < 10 || parts.some((part) => !SOURCES.includes(part));
    });
    expect(unknown).toEqual([]);
  });

  test("a message that no source has is found", () => {
    const [message = ""] = messagesIn("| message |\n| --- |\n| `the moon is … in use by …` |\n");
    expect(fixedPartsOf(message).some((part) => !SOURCES.includes(part))).toBe(true);
  });
});
