/** The client's elector over running services keeps the contract of every elector. */
import { HttpElector } from "@tenure/client";
import { electorConformance } from "@tenure/core/conformance";
import { afterAll, beforeAll, describe, test } from "vitest";
import { cleanUp, memory, serveKnown } from "./service.test-kit.js";

/** Two servers over one store, for all laws. `by` is the name in the credentials. */
let urls: readonly string[] = [];
let token = "";

beforeAll(async () => {
  const store = memory();
  const one = await serveKnown({ rateLimit: 0 }, { store });
  const other = await serveKnown({ rateLimit: 0, jwtJwks: one.jwksFile }, { store });
  urls = [one.service.url, other.service.url];
  token = await one.bearer({ sub: "operator", role: "admin" });
});
afterAll(cleanUp);

const open = (batch: boolean) => async () => {
  const opened: HttpElector[] = [];
  const at = async (index: number) => {
    const elector = await HttpElector.open({ endpoints: [urls[index] ?? ""], token, batch });
    opened.push(elector);
    return elector;
  };
  return {
    elector: await at(0),
    another: () => at(1),
    dispose: async () => {
      for (const elector of opened) await elector.close();
    },
  };
};

describe("the contract of an elector over HTTP", () => {
  electorConformance({ test, open: open(true), features: { admin: true } });
});

describe("the contract of an elector over HTTP without batching", () => {
  electorConformance({ test, open: open(false) });
});
