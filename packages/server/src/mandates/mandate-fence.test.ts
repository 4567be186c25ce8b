import { once } from "node:events";
import { createServer } from "node:http";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { VirtualClock } from "@tenure/core/testing";
import {
  fencedFetch,
  type Leading,
  MandateVerifier,
  MemoryTermCell,
  nodeFence,
  TermGate,
} from "@tenure/fence";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, closing, later, RecordingLog, temporaryFile } from "../auth/auth.test-kit.js";
import { serve, type Service } from "../http/service.test-kit.js";
import { Ed25519MandateSigner } from "./ed25519-mandate-signer.js";

afterEach(cleanUp);

const newKey = (): string =>
  generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }) as string;

async function lead(service: Service, nodeId: string): Promise<Leading> {
  const { body } = await service.campaign("billing", nodeId);
  expect(body["is_leader"]).toBe(true);
  const { term } = body["leader"] as { term: number };
  return { groupId: "billing", term, token: body["token"] as string };
}

/** A resource behind the fence that knows the service only by its URL. */
async function resourceOf(mandates: MandateVerifier): Promise<string> {
  const fence = nodeFence({
    gate: new TermGate({ cell: new MemoryTermCell() }),
    groupId: "billing",
    mandates,
  });
  const server = createServer((request, response) => {
    void fence(request, response).then((isAdmitted) => {
      if (isAdmitted) response.end("done");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  later(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe("a mandate of the service at a fence", () => {
  test("a mandate opens a fence that has only the service's keys, until a later leader has been there", async () => {
    const service = await serve({ signingKey: temporaryFile("key.pem", newKey()) });
    const keys = { url: `${service.url}/v1/keys` };
    const url = await resourceOf(new MandateVerifier({ keys, issuer: "tenure" }));

    const first = await lead(service, "a");
    const asFirst = fencedFetch(fetch, () => first);
    expect(await (await asFirst(url)).text()).toBe("done");

    await service.resign("billing", "a", first.term);
    const second = await lead(service, "b");
    expect(second.term).toBe(first.term + 1);
    expect(await (await fencedFetch(fetch, () => second)(url)).text()).toBe("done");

    // The mandate has not expired, but its term is over.
    await expect(asFirst(url)).rejects.toMatchObject({ code: "STALE_TERM", highestTerm: second.term });
    const forged = fencedFetch(fetch, () => ({ ...first, term: second.term + 1 }));
    expect((await forged(url)).status).toBe(401);
  });

  test("verifier and signer agree on the validity of a mandate to the end of its time", async () => {
    const clock = new VirtualClock();
    const { log } = new RecordingLog();
    const keyFile = temporaryFile("key.pem", newKey());
    const signer = closing(await Ed25519MandateSigner.open({ keyFile, issuer: "us" }, { clock, log }));
    const keys = { keys: [...signer.keys()] };
    const verifier = new MandateVerifier({ keys, issuer: "us", clock });
    const mandate = { groupId: "g/1", nodeId: "n1", term: 7 };
    const token = await signer.sign({ ...mandate, ttlMs: 5000 });
    expect(await verifier.verify(token)).toEqual({ ...mandate, expiresAtMs: clock.wallMs() + 5000 });
    await clock.advance(4999);
    await verifier.verify(token);
    await clock.advance(1);
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: "MANDATE_EXPIRED" });
  });

  test("a mandate signed by a new key is accepted once the published keys are fetched again", async () => {
    const clock = new VirtualClock();
    const recorded = new RecordingLog();
    const keyFile = temporaryFile("key.pem", newKey());
    const signer = closing(await Ed25519MandateSigner.open({ keyFile }, { clock, log: recorded.log }));
    const file = temporaryFile("jwks.json", "");
    const publish = (): void => writeFileSync(file, JSON.stringify({ keys: signer.keys() }));
    publish();
    const verifier = new MandateVerifier({ keys: { file }, clock });
    const mandate = { groupId: "g", nodeId: "n", term: 1, ttlMs: 60_000 };
    const before = await signer.sign(mandate);
    await verifier.verify(before);
    writeFileSync(keyFile, newKey());
    await signer.look();
    publish();
    await clock.advance(10_000);
    await verifier.verify(await signer.sign({ ...mandate, term: 2 }));
    await verifier.verify(before);
  });
});
