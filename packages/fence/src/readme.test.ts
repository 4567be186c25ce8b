import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isMissing, startPostgres } from "@tenure/engines";
import { SignJWT } from "jose";
import { Client } from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { book, leaderFetch, prepare, serveJobs } from "./readme.test-kit.js";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  undo.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("the example in the README", () => {
  test("is the very code that is tested here", () => {
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    const kit = readFileSync(new URL("./readme.test-kit.ts", import.meta.url), "utf8");
    const [, example] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(example).toBe(kit.replace('"./index.js"', '"@tenure/fence"'));
  });

  test.skipIf(isMissing("postgres"))("books in PostgreSQL until a later leader has booked", async () => {
    const engine = await startPostgres();
    undo.push(() => engine.stop());
    const client = new Client(engine.url);
    await client.connect();
    undo.push(() => client.end());
    await prepare(client);
    await client.query("CREATE TABLE booking (id uuid PRIMARY KEY, amount int)");
    expect(await book(client, 1, 10)).toBe(true);
    expect(await book(client, 2, 20)).toBe(true);
    expect(await book(client, 1, 30)).toBe(false);
    const { rows } = await client.query("SELECT amount FROM booking ORDER BY amount");
    expect(rows).toEqual([{ amount: 10 }, { amount: 20 }]);
  });

  test("serves the leader over HTTP, and refuses it once it is replaced", async () => {
    const directory = mkdtempSync(join(tmpdir(), "tenure-fence-"));
    undo.push(() => rmSync(directory, { recursive: true }));
    const key = generateKeyPairSync("ed25519");
    const jwk = { ...key.publicKey.export({ format: "jwk" }), kid: "k" };
    const service = await listen(
      createServer((_request, response) => response.end(JSON.stringify({ keys: [jwk] }))),
    );
    const url = await listen(serveJobs(service, directory));
    const leading = async (term: number) => {
      const claims = new SignJWT({ sub: `n${term}`, group: "billing", term }).setExpirationTime("1h");
      return {
        term,
        token: await claims.setProtectedHeader({ alg: "EdDSA", kid: "k" }).sign(key.privateKey),
      };
    };
    const [first, second] = [await leading(1), await leading(2)];
    expect(await (await leaderFetch(() => first)(url)).text()).toBe("done");
    expect(await (await leaderFetch(() => second)(url)).text()).toBe("done");
    await expect(leaderFetch(() => first)(url)).rejects.toMatchObject({ code: "STALE_TERM", highestTerm: 2 });
    await expect(leaderFetch(() => null)(url)).rejects.toMatchObject({ code: "NOT_LEADER" });
  });
});
