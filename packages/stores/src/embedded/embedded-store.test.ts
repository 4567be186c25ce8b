import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { storeConformance } from "@tenure/core/conformance";
import { afterAll, beforeAll, test } from "vitest";
import { EmbeddedStore } from "./embedded-store.js";

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "tenure-embedded-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

storeConformance({
  test,
  open: (space) => EmbeddedStore.open({ directory: join(root, space) }),
  dispose: (space) => rm(join(root, space), { recursive: true }),
  durable: true,
});
