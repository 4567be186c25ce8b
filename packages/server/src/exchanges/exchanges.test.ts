/**
 * The service answers as it did when `recorded/` was written: the same status, codes, keys and values over HTTP and gRPC, and the
 * same OpenAPI document but for texts. Where a change of behaviour is meant, record again and review the difference:
 *
 *     RECORD=1 npx vitest run packages/server/src/exchanges && npx oxfmt packages/server/recorded
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, serve } from "../http/service.test-kit.js";
import { lives } from "./lives.test-kit.js";
import { type Exchange, Recorder } from "./recorder.test-kit.js";
import { callers, mistakes, refusals } from "./refusals.test-kit.js";

afterEach(cleanUp);

const DIRECTORY = new URL("../../recorded/", import.meta.url);
const isRecording = process.env["RECORD"] === "1";

/** The recording of this name; while recording, the current answer. */
function recorded<T>(name: string, now: T): T {
  const path = fileURLToPath(new URL(`${name}.json`, DIRECTORY));
  if (isRecording) {
    mkdirSync(DIRECTORY, { recursive: true });
    writeFileSync(path, `${JSON.stringify(now, null, 2)}\n`);
  }
  return JSON.parse(readFileSync(path, "utf8")) as T;
}

describe.each(["http", "grpc"] as const)("recorded exchanges over %s", (transport) => {
  test.each(Object.entries({ lives, callers, mistakes, refusals }))(
    "the recorded answers of the %s script are unchanged",
    async (name, run) => {
      const recorder = new Recorder(transport);
      try {
        await run(recorder);
      } finally {
        await recorder.close();
      }
      const before: readonly Exchange[] = recorded(`${transport}-${name}`, recorder.exchanges);
      for (const [index, now] of recorder.exchanges.entries()) {
        // A different count or order shows in the first exchange that differs.
        expect({ index, ...now }).toEqual({ index, ...before[index] });
      }
      expect(recorder.exchanges).toHaveLength(before.length);
    },
  );
});

test("the OpenAPI document is as recorded, except for its texts", async () => {
  const { body } = await (await serve()).get("/openapi.json");
  const now = JSON.parse(
    JSON.stringify(body, (key, value: unknown) =>
      (key === "description" || key === "summary") && typeof value === "string" ? undefined : value,
    ),
  ) as object;
  expect(now).toEqual(recorded("openapi", now));
});
