/** The pages that a reader follows from top to bottom: each command is typed into a real terminal, and each output compared. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { blocksIn } from "./blocks.test-kit.js";
import { matchOf } from "./expected-output.test-kit.js";
import { WALKTHROUGHS } from "./pages.test-kit.js";
import { isFollowed, missingFor, Reader } from "./reader.test-kit.js";
import { ROOT } from "./tarballs.test-kit.js";

const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");

describe.concurrent("pages that a reader follows", () => {
  for (const page of WALKTHROUGHS) {
    test.skipIf(missingFor(page, textOf(page)).length > 0)(`${page} does what it says`, async () => {
      const reader = new Reader();
      try {
        await reader.follow(page, textOf(page));
      } finally {
        await reader.close();
      }
    });
  }

  test("a walkthrough states a reason for each command that is not run", () => {
    const silent = WALKTHROUGHS.flatMap((page) => blocksIn(page, textOf(page)))
      .filter(({ language }) => ["sh", "bash", "console", "shell"].includes(language))
      .filter((block) => !isFollowed(block) && (block.notes.get("not run") ?? "") === "");
    expect(silent.map(({ place }) => place)).toEqual([]);
  });
});

describe("the reader of a page", () => {
  async function follow(text: string): Promise<string> {
    const reader = new Reader();
    try {
      await reader.follow("page.md", text);
      return "";
    } catch (error) {
      return (error as Error).message;
    } finally {
      await reader.close();
    }
  }

  test("a reader stops two terminals' commands, and compares what they print", async () => {
    const page = [
      ...["```sh", "sleep 1000 &", "echo one", "echo port 7420", "```"],
      ...["<!-- output -->", "```text", "…", "port 7420", "```"],
      ...["<!-- terminal: 2 -->", "<!-- stays -->", "```sh", "echo two; sleep 1000", "```"],
      ...["<!-- output -->", "<!-- terminal: 2 -->", "```text", "t…", "```"],
      ...["Kill the first.", "```sh", "kill -9 $!", "```", "<!-- ctrl-c: 2 -->"],
      ...["<!-- terminal: 2 -->", "<!-- exit: 3 -->", "```sh", "(exit 3); echo on", "```"],
      ...["<!-- output -->", "<!-- terminal: 2 -->", "```text", "on", "```"],
    ].join("\n");
    expect(await follow(page)).toBe("");
  });

  test("a reader refuses a command that fails in the middle of a block", async () => {
    const [first = ""] = (await follow("Text\n\n```sh\nfalse\necho on\n```\n")).split("\n");
    expect(first).toBe("page.md:3: a command exited with 1 instead of 0; the terminal shows:");
  });

  test("a reader refuses a page whose output differs from what the terminal shows", async () => {
    const page = "```sh\necho term 1\n```\n\n<!-- output -->\n\n```text\nterm 2\n```\n";
    expect(await follow(page)).toBe("page.md:5: terminal 1 does not show\nterm 2\nbut\nterm 1\n");
  });

  test("an expected output may leave out parts of lines, whole lines and numbers", () => {
    const shown = "a leads (term 1), 4.5 s\nmore\nand more\nb waits\n";
    expect(matchOf("a leads (term 1), …\n…\nb waits\n").test(shown)).toBe(true);
    expect(matchOf("a leads (term 1), …\nb waits\n").test(shown)).toBe(false);
    expect(matchOf("a leads (term 7), 12 s\n…\n", { numbersVary: true }).test(shown)).toBe(true);
    expect(matchOf("for 5.1s\n", { numbersVary: true }).test("for 345ms\n")).toBe(true);
    expect(matchOf("leads\n").test(shown)).toBe(false);
  });
});
