import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, systemClock } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, closing, temporaryDirectory, temporaryFile } from "./auth.test-kit.js";
import { ReloadedFiles } from "./reloaded-files.js";

afterEach(cleanUp);

/** Follows files of plain text in which "bad" is invalid. */
async function follow(clock: Clock, ...paths: readonly string[]) {
  const changes: string[] = [];
  const refusals: string[] = [];
  let wake = () => {};
  const files = closing(
    await ReloadedFiles.open({
      paths,
      clock,
      // In real time only a watch can have noticed the change.
      pollMs: clock === systemClock ? 3_600_000 : undefined,
      parse: (contents) => {
        const text = contents.join("+");
        if (text.includes("bad")) throw new Error(`${text} is no good`);
        return text;
      },
      onChange: (value) => {
        changes.push(value);
        wake();
      },
      onRefused: (error) => {
        refusals.push(error.message);
        wake();
      },
    }),
  );
  const next = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  return { files, changes, refusals, next };
}

describe("ReloadedFiles", () => {
  it("a followed file whose first content is invalid is refused, and the error names the file", async () => {
    const clock = new VirtualClock();
    const missing = join(temporaryDirectory(), "missing");
    await expect(follow(clock, missing)).rejects.toThrow(`${missing} cannot be read: ENOENT`);
    await expect(follow(clock, temporaryFile("a", "bad"))).rejects.toThrow("bad is no good");
  });

  it("a followed file that is written in place is reloaded", async () => {
    const path = temporaryFile("a", "one");
    const { files, changes, next } = await follow(systemClock, path);
    expect(files.current).toBe("one");
    const changed = next();
    writeFileSync(path, "two");
    await changed;
    expect(files.current).toBe("two");
    expect(changes.at(-1)).toBe("two");
  });

  it("a followed file that is replaced by a rename is reloaded", async () => {
    const path = temporaryFile("a", "one");
    const { files, next } = await follow(systemClock, path);
    const changed = next();
    writeFileSync(`${path}.new`, "two");
    renameSync(`${path}.new`, path);
    await changed;
    expect(files.current).toBe("two");
  });

  it("a followed file is reloaded when Kubernetes replaces the symbolic link in its path", async () => {
    const volume = temporaryDirectory();
    for (const version of ["one", "two"]) {
      mkdirSync(join(volume, `..${version}`));
      writeFileSync(join(volume, `..${version}`, "a"), version);
    }
    symlinkSync("..one", join(volume, "..data"));
    symlinkSync("..data/a", join(volume, "a"));
    const { files, next } = await follow(systemClock, join(volume, "a"));
    expect(files.current).toBe("one");
    const changed = next();
    symlinkSync("..two", join(volume, "..data_tmp"));
    renameSync(join(volume, "..data_tmp"), join(volume, "..data"));
    await changed;
    expect(files.current).toBe("two");
  });

  it("a change that the file watch misses is found by polling, and the file is watched again", async () => {
    const base = temporaryDirectory();
    for (const version of ["v1", "v2"]) {
      mkdirSync(join(base, version));
      writeFileSync(join(base, version, "a"), version);
    }
    symlinkSync("v1", join(base, "now"));
    const clock = new VirtualClock();
    const { files, next } = await follow(clock, join(base, "now", "a"));
    symlinkSync("v2", join(base, "new"));
    renameSync(join(base, "new"), join(base, "now"));
    let changed = next();
    await clock.advance(29_999);
    expect(files.current).toBe("v1");
    await clock.advance(1);
    await changed;
    expect(files.current).toBe("v2");
    // The poll goes on.
    await files.look();
    writeFileSync(join(base, "v2", "a"), "v3");
    changed = next();
    await clock.advance(30_000);
    await changed;
    expect(files.current).toBe("v3");
  });

  it("a followed file keeps its old content if the new one is invalid, and reports that once", async () => {
    const path = temporaryFile("a", "one");
    const { files, changes, refusals } = await follow(new VirtualClock(), path);
    writeFileSync(path, "bad");
    await files.look();
    await files.look();
    expect(files.current).toBe("one");
    expect(refusals).toEqual(["bad is no good"]);
    writeFileSync(path, "bad again");
    await files.look();
    expect(refusals).toEqual(["bad is no good", "bad again is no good"]);
    writeFileSync(path, "two");
    await files.look();
    expect([files.current, changes]).toEqual(["two", ["two"]]);
    writeFileSync(path, "bad again");
    await files.look();
    expect(refusals).toHaveLength(3);
  });

  it("after a file was deleted its last content stays valid, and creating it again with the same content is not a change", async () => {
    const path = temporaryFile("a", "one");
    const { files, changes, refusals } = await follow(new VirtualClock(), path);
    rmSync(path);
    await files.look();
    await files.look();
    expect(files.current).toBe("one");
    expect(refusals).toEqual([`${path} cannot be read: ENOENT`]);
    writeFileSync(path, "one");
    await files.look();
    expect(changes).toEqual([]);
    rmSync(path);
    await files.look();
    expect(refusals).toHaveLength(2);
  });

  it("several followed files are parsed together", async () => {
    const a = temporaryFile("a", "one");
    const b = temporaryFile("b", "one");
    const { files, changes } = await follow(new VirtualClock(), a, b);
    expect(files.current).toBe("one+one");
    writeFileSync(b, "two");
    await files.look();
    expect(changes).toEqual(["one+two"]);
  });

  it("a closed follower does not read its files again", async () => {
    const path = temporaryFile("a", "one");
    const { files, changes, refusals } = await follow(new VirtualClock(), path);
    await files[Symbol.asyncDispose]();
    writeFileSync(path, "two");
    await files.look();
    await files[Symbol.asyncDispose]();
    expect([files.current, changes, refusals]).toEqual(["one", [], []]);
  });
});
