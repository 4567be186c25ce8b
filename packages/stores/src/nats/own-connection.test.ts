import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { BackendUnavailableError, InvalidRequestError } from "@tenure/core";
import { boundMs, freePorts, isMissing, type NatsEngine, startNats, waitLimitMs } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeCredentials } from "./credentials.test-kit.js";
import { NatsStore } from "./nats-store.js";
import { type NatsStoreOptions, parseNatsUrl } from "./options.js";

const BOUND_MS = 10_000;

const fixture = (name: string): string => fileURLToPath(new URL(`fixtures/${name}.pem`, import.meta.url));

/** Opens, uses and closes a store. */
async function works(options: NatsStoreOptions): Promise<void> {
  const store = await NatsStore.open(options);
  expect(await store.sync()).toBeGreaterThan(0);
  await store.close();
}

async function refusal(options: NatsStoreOptions): Promise<Error> {
  return NatsStore.open(options).then(
    () => new Error("it was opened"),
    (error: unknown) => error as Error,
  );
}

describe.skipIf(isMissing("nats"))("credentials for NATS", () => {
  let directory = "";
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "tenure-nats-credentials-"));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  async function withServer(config: string, run: (engine: NatsEngine) => Promise<void>): Promise<void> {
    const engine = await startNats({ config });
    try {
      await run(engine);
    } finally {
      await engine.stop();
    }
  }

  test("NATS accepts user and password", () =>
    withServer(`authorization { user: tenure, password: "p:w/" }`, async ({ ports }) => {
      await works(parseNatsUrl(`nats://tenure:p%3Aw%2F@127.0.0.1:${ports[0]}/b`));
      for (const credentials of ["tenure:s3cret", "tenure:s3cret", "s3cret"]) {
        const error = await refusal(parseNatsUrl(`nats://${credentials}@127.0.0.1:${ports[0]}/b`));
        expect(error).toBeInstanceOf(InvalidRequestError);
        expect(error.message).toMatch(/refused by NATS .* check user and password/);
        expect(JSON.stringify([error.message, String(error.cause)])).not.toContain("s3cret");
      }
    }));

  test("NATS accepts a token", () =>
    withServer(`authorization { token: "t0ken" }`, async ({ ports }) => {
      await works(parseNatsUrl(`nats://t0ken@127.0.0.1:${ports[0]}/b`));
      expect(await refusal(parseNatsUrl(`nats://127.0.0.1:${ports[0]}/b`))).toBeInstanceOf(
        InvalidRequestError,
      );
    }));

  test("NATS accepts a credentials file", () => {
    const { config, file } = makeCredentials();
    return withServer(config, async ({ ports }) => {
      const credentialsFile = join(directory, "user.creds");
      await writeFile(credentialsFile, file);
      await works(parseNatsUrl(`nats://127.0.0.1:${ports[0]}/b?creds=${credentialsFile}`));
      await writeFile(credentialsFile, makeCredentials().file);
      const url = parseNatsUrl(`nats://127.0.0.1:${ports[0]}/b?creds=${credentialsFile}`);
      expect(await refusal(url)).toBeInstanceOf(InvalidRequestError);
    });
  });

  test("a NATS user without the right to write gets an error", () =>
    withServer(
      `authorization { users: [{ user: u, password: p, permissions: { publish: ["$JS.API.>"] } }] }`,
      async ({ ports }) => {
        const error = await refusal(parseNatsUrl(`nats://u:p@127.0.0.1:${ports[0]}/b`));
        expect(error).toBeInstanceOf(BackendUnavailableError);
        expect(error.message).toMatch(/Permissions Violation for Publish/);
      },
    ));

  test("NATS accepts TLS with certificates on both sides", () => {
    const config = `tls { cert_file: "${fixture("server")}", key_file: "${fixture("server-key")}",
      ca_file: "${fixture("ca")}", verify: true }`;
    return withServer(config, async ({ ports }) => {
      const files = `ca=${fixture("ca")}&cert=${fixture("client")}&key=${fixture("client-key")}`;
      await works(parseNatsUrl(`nats://127.0.0.1:${ports[0]}/b?tls=true&${files}`));
      await works(parseNatsUrl(`nats://localhost:${ports[0]}/b?${files}`));
      for (const parameters of ["tls=true", `ca=${fixture("ca")}`]) {
        const error = await refusal(parseNatsUrl(`nats://127.0.0.1:${ports[0]}/b?${parameters}`));
        expect(error).toBeInstanceOf(BackendUnavailableError);
      }
    });
  });

  test("a store that requires TLS refuses a NATS server without it", () =>
    withServer("", async ({ ports }) => {
      const error = await refusal(parseNatsUrl(`nats://127.0.0.1:${ports[0]}/b?tls=true`));
      expect(error).toBeInstanceOf(BackendUnavailableError);
    }));

  test("missing or wrong credential and TLS files are refused by name", async () => {
    const url = `nats://127.0.0.1:1/b`;
    for (const [parameter, field] of [
      ["ca", "tls.ca"],
      ["creds", "credentialsFile"],
    ]) {
      const error = await refusal(parseNatsUrl(`${url}?${parameter}=${directory}/none`));
      expect([error.constructor, (error as InvalidRequestError).field]).toEqual([InvalidRequestError, field]);
    }
    const noCredentials = await refusal(parseNatsUrl(`${url}?creds=${fixture("ca")}`));
    expect(noCredentials.message).toMatch(/credentialsFile holds no credentials of NATS/);
  });
});

describe.skipIf(isMissing("nats"))("NATS servers that do not answer", () => {
  test("an absent NATS server is reported soon, in one sentence", async () => {
    const [port] = await freePorts(1);
    const startedAtMs = performance.now();
    const error = await refusal(parseNatsUrl(`nats://user:s3cret@127.0.0.1:${port}/b`));
    expect(error).toBeInstanceOf(BackendUnavailableError);
    expect(error.message).toMatch(/cannot connect to NATS at 127\.0\.0\.1:\d+ \(.*\); is it running there\?/);
    expect(error.message).not.toContain("s3cret");
    expect(performance.now() - startedAtMs).toBeLessThan(boundMs(BOUND_MS));
  });

  test("a NATS server that accepts and is silent is reported soon, and the next in the list is tried", async () => {
    const silent = createServer();
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as { port: number };
    const startedAtMs = performance.now();
    expect(await refusal(parseNatsUrl(`nats://127.0.0.1:${port}/b`))).toBeInstanceOf(BackendUnavailableError);
    expect(performance.now() - startedAtMs).toBeLessThan(boundMs(BOUND_MS));
    const engine = await startNats();
    await works(parseNatsUrl(`nats://127.0.0.1:${port},127.0.0.1:${engine.ports[0]}/b`));
    await engine.stop();
    await promisify(silent.close.bind(silent))();
  });

  test("a process that has closed its NATS store ends by itself", async () => {
    const engine = await startNats();
    const module = new URL("../../dist/nats/index.js", import.meta.url).href;
    const script = `
      const { NatsStore, parseNatsUrl } = await import(${JSON.stringify(module)});
      const store = await NatsStore.open(parseNatsUrl(${JSON.stringify(engine.url)}));
      const feed = store.feed()[Symbol.asyncIterator]();
      await feed.next();
      await store.compareAndSet([{ key: "r/a", expected: null, value: "1" }]);
      await store.close();`;
    await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
      timeout: waitLimitMs(BOUND_MS),
    });
    await engine.stop();
  });
});
