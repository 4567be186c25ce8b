import { copyFileSync, readFileSync } from "node:fs";
import { credentials } from "@grpc/grpc-js";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { GrpcClient } from "../grpc/grpc.test-kit.js";
import { serve, type Service } from "../http/service.test-kit.js";
import type { TenureServerOptions } from "../options.js";
import { cleanUp, RecordingLog, TestAuthority } from "./auth.test-kit.js";
import { TlsClient } from "./tls-client.test-kit.js";

afterEach(cleanUp);

const HOSTS = ["DNS.1 = localhost", "IP.1 = 127.0.0.1"];

async function serveTls(
  authority: TestAuthority,
  altNames: readonly string[],
  given: TenureServerOptions = {},
  log?: pino.Logger,
): Promise<Service & { readonly own: { readonly cert: string; readonly key: string } }> {
  const own = authority.issue("server", ...HOSTS, ...altNames);
  const service = await serve(
    { grpc: "127.0.0.1:0", tlsCert: own.cert, tlsKey: own.key, tlsClientCa: authority.cert, ...given },
    log === undefined ? {} : { log },
  );
  return Object.assign(service, { own });
}

function clients(authority: TestAuthority, service: Service, uri: string) {
  const pair = authority.issue(uri.replaceAll(/[:/]/g, "-"), `URI.1 = ${uri}`);
  return {
    http: new TlsClient(service.url, { ca: authority.cert, ...pair }),
    grpc: new GrpcClient(
      service.server.grpcAddress ?? "",
      credentials.createSsl(readFileSync(authority.cert), readFileSync(pair.key), readFileSync(pair.cert)),
    ),
  };
}

describe("the trust domain of a server", () => {
  it("the trust domain is that of the server's certificate, and client certificates of another are refused over HTTP and gRPC", async () => {
    const authority = new TestAuthority();
    const service = await serveTls(authority, ["URI.1 = spiffe://prod.bank/server/s1"]);
    const own = clients(authority, service, "spiffe://prod.bank/admin/alice");
    expect((await own.http.get("/v1/whoami")).body).toMatchObject({ name: "alice", role: "admin" });
    expect(await own.grpc.call("Groups/Create", { group_id: "g" })).toMatchObject({ group_id: "g" });
    const foreign = clients(authority, service, "spiffe://dev.laptop/admin/mallory");
    expect(await foreign.http.get("/v1/whoami")).toMatchObject({
      status: 401,
      body: { message: expect.stringContaining("dev.laptop") as unknown },
    });
    expect(await foreign.grpc.ask("Groups/Create", { group_id: "h" })).toMatchObject({
      status: "UNAUTHENTICATED",
    });
  });

  it("--trust-domain overrides the trust domain of the server's certificate", async () => {
    const authority = new TestAuthority();
    for (const altNames of [[], ["URI.1 = spiffe://servers.bank/server/s1"]]) {
      const service = await serveTls(authority, altNames, { trustDomain: "prod.bank" });
      const own = clients(authority, service, "spiffe://prod.bank/sdk/n1");
      expect((await own.http.get("/v1/whoami")).body).toMatchObject({ name: "n1" });
      const foreign = clients(authority, service, "spiffe://servers.bank/admin/mallory");
      expect((await foreign.http.get("/v1/whoami")).status).toBe(401);
    }
  });

  it("a server that accepts client certificates does not start without a known trust domain", async () => {
    const authority = new TestAuthority();
    for (const altNames of [
      [],
      ["URI.1 = https://prod.bank/"],
      ["URI.1 = spiffe://prod.bank/server/s1", "URI.2 = spiffe://dev.laptop/server/s1"],
    ]) {
      await expect(serveTls(authority, altNames)).rejects.toThrow(/^trustDomain is missing: .*server\.crt/);
    }
    // Without a client CA no caller is identified by a certificate.
    await serveTls(authority, [], { tlsClientCa: undefined });
  });

  it("a trust domain that is invalid or has no effect is refused", async () => {
    await expect(serve({ trustDomain: "prod.bank" })).rejects.toThrow(/^trustDomain has no effect/);
    const authority = new TestAuthority();
    for (const trustDomain of ["Prod.Bank", "spiffe://prod.bank", "", "a/b"]) {
      await expect(serveTls(authority, [], { trustDomain })).rejects.toThrow(/^trustDomain is "/);
    }
  });

  it("the trust domain stays unchanged when a renewed certificate names another, and the log says so", async () => {
    const authority = new TestAuthority();
    const recorded = new RecordingLog();
    const log = pino(
      { level: "info" },
      {
        write: (line: string) => {
          const { level, msg } = JSON.parse(line) as { level: number; msg: string };
          (level === 40 ? recorded.log.warn : recorded.log.info)(msg);
        },
      },
    );
    const service = await serveTls(authority, ["URI.1 = spiffe://prod.bank/server/s1"], {}, log);
    const next = authority.issue("next", ...HOSTS, "URI.1 = spiffe://dev.laptop/server/s1");
    copyFileSync(next.cert, service.own.cert);
    copyFileSync(next.key, service.own.key);
    await recorded.until(/trust domain dev\.laptop.*prod\.bank/);
    expect(
      (await clients(authority, service, "spiffe://prod.bank/sdk/n1").http.get("/v1/whoami")).status,
    ).toBe(200);
    expect(
      (await clients(authority, service, "spiffe://dev.laptop/sdk/n1").http.get("/v1/whoami")).status,
    ).toBe(401);
  });
});
