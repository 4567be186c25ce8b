import { chmodSync, writeFileSync } from "node:fs";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { AdminToken } from "./admin-token.js";
import { cleanUp, closing, RecordingLog, temporaryFile } from "./auth.test-kit.js";
import { readBearerToken } from "./bearer-token.js";

afterEach(cleanUp);

const SECRET = "0123456789abcdef";

async function open(path: string) {
  const recorded = new RecordingLog();
  const token = closing(await AdminToken.open(path, { clock: new VirtualClock(), log: recorded.log }));
  const matches = (text: string) => token.matches(readBearerToken(`Bearer ${text}`));
  return { token, matches, recorded };
}

describe("the admin token", () => {
  it("the admin token is the trimmed content of its file, and no other token matches", async () => {
    const { matches } = await open(temporaryFile("token", `  ${SECRET}\n`));
    expect(matches(SECRET)).toBe(true);
    for (const wrong of [SECRET.slice(1), `${SECRET}0`, SECRET.toUpperCase(), "x"]) {
      expect(matches(wrong)).toBe(false);
    }
  });

  it("an admin token needs at least 16 characters, all of them valid in a header", async () => {
    await expect(open(temporaryFile("token", SECRET.slice(1)))).rejects.toThrow(
      /contains 15 characters.*at least 16/,
    );
    await expect(open(temporaryFile("token", "\n"))).rejects.toThrow("contains 0 characters");
    await expect(open(temporaryFile("token", `${SECRET}\n${SECRET}`))).rejects.toThrow("one token");
    await expect(open(temporaryFile("token", "sixteen ümlauts und mehr"))).rejects.toThrow("one token");
  });

  it("an admin token file that others may read or change causes a warning", async () => {
    const path = temporaryFile("token", SECRET);
    expect((await open(path)).token.warning).toBeUndefined();
    for (const [mode, octal] of [
      [0o640, "0640"],
      [0o604, "0604"],
      [0o620, "0620"],
      [0o602, "0602"],
    ] as const) {
      chmodSync(path, mode);
      const { token, recorded } = await open(path);
      expect(token.warning).toContain(`mode ${octal}`);
      expect(recorded.warnings()).toHaveLength(1);
    }
  });

  it("the admin token changes with its file, and no token is valid while the content is invalid", async () => {
    const path = temporaryFile("token", SECRET);
    const { token, matches, recorded } = await open(path);
    writeFileSync(path, "short");
    await token.look();
    expect(matches(SECRET)).toBe(false);
    expect(matches("short")).toBe(false);
    expect(recorded.warnings()).toEqual([expect.stringContaining("is revoked")]);
    writeFileSync(path, "another-secret-of-ours");
    await token.look();
    expect(matches(SECRET)).toBe(false);
    expect(matches("another-secret-of-ours")).toBe(true);
    expect(recorded.lines.join()).not.toContain("another-secret");
  });
});

describe("an Authorization header", () => {
  it("an Authorization header carries a bearer token, whatever the case of the scheme", () => {
    expect(readBearerToken("bearer abc.DEF-_~+/=").text).toBe("abc.DEF-_~+/=");
    expect(readBearerToken("Bearer  abc ").text).toBe("abc");
  });

  it("an Authorization header in any other form is refused", () => {
    for (const header of [
      "",
      "Bearer",
      "Bearer ",
      "Basic abc",
      "abc",
      "Bearer a b",
      "Bearer a,b",
      "Bearerabc",
      "Bearer ä",
    ]) {
      expect(() => readBearerToken(header)).toThrow(expect.objectContaining({ code: "UNAUTHENTICATED" }));
    }
  });
});
