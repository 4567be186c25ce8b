import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { asCommand, asCurl, quoted } from "./act.js";

const open = { origin: "http://127.0.0.1:7420", needsToken: false };

test.each(["billing", "it's full", '$HOME `id` "x"', "ä b", ""])(
  "a shell reads the quoted word %j back unchanged",
  (word) => {
    expect(execFileSync("sh", ["-c", `printf %s ${quoted(word)}`], { encoding: "utf8" })).toBe(word);
  },
);

test("an act as a command names this server, and a token file where the server requires credentials", () => {
  expect(asCommand(["pause", "billing", "--reason", "it's full"], open)).toBe(
    String.raw`tenure pause billing --reason 'it'\''s full' --server http://127.0.0.1:7420`,
  );
  expect(asCommand(["run", "g", "--", "date"], { ...open, needsToken: true })).toBe(
    "tenure run g --server http://127.0.0.1:7420 --token-file TOKEN_FILE -- date",
  );
});

test("an act as curl has its method, its body, and a placeholder for the token", () => {
  const act = { method: "POST", path: "/v1/groups/a%2Fb/pause", body: { for_ms: 5000 } } as const;
  expect(asCurl(act, { ...open, needsToken: true })).toBe(
    [
      "curl -sS -X POST http://127.0.0.1:7420/v1/groups/a%2Fb/pause",
      '-H "authorization: Bearer $TENURE_TOKEN"',
      "-H content-type:application/json",
      `-d '{"for_ms":5000}'`,
    ].join(" \\\n  "),
  );
});
