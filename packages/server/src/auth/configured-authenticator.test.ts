import type { PeerCertificate } from "node:tls";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, closing, jwks, RecordingLog, temporaryFile, testKey, token } from "./auth.test-kit.js";
import type { Credentials } from "./authenticator.js";
import type { Caller } from "./caller.js";
import {
  type AuthenticationOptions,
  isAuthenticationConfigured,
  openAuthenticator,
} from "./configured-authenticator.js";

afterEach(cleanUp);

const SECRET = "0123456789abcdef";
const key = testKey("k1");
const CLAIMS = { sub: "jwt-node", groups: ["a*"], exp: VirtualClock.EPOCH_MS / 1000 + 60 };

function certificate(uri: string): PeerCertificate {
  return { subjectaltname: `URI:${uri}`, valid_to: "Mar 12 10:00:00 2030 GMT" } as PeerCertificate;
}

const NODE = certificate("spiffe://lockd/sdk/n1");
const SERVER = certificate("spiffe://lockd/server/s1");

async function open(options: AuthenticationOptions) {
  const parts = { clock: new VirtualClock(), log: new RecordingLog().log };
  const authenticator = closing(await openAuthenticator(options, parts));
  return async (credentials: Partial<Credentials>): Promise<Caller> =>
    authenticator.authenticate({ authorization: undefined, certificate: undefined, ...credentials });
}

const everything = (): AuthenticationOptions => ({
  clientCertificates: true,
  adminTokenFile: temporaryFile("token", SECRET),
  jwt: { jwks: temporaryFile("jwks.json", jwks(key)) },
});

const refused = (message: string) => ({
  code: "UNAUTHENTICATED",
  message: expect.stringContaining(message) as unknown,
});

describe("a service with all authentication methods", () => {
  it("a caller is identified by any configured method", async () => {
    const authenticate = await open(everything());
    expect((await authenticate({ certificate: NODE })).name).toBe("n1");
    expect(await authenticate({ authorization: `Bearer ${SECRET}` })).toEqual({
      kind: "admin-token",
      role: "admin",
      name: "admin-token",
    });
    expect(await authenticate({ authorization: `Bearer ${await token(key, CLAIMS)}` })).toEqual({
      kind: "jwt",
      role: "node",
      name: "jwt-node",
      groups: ["a*"],
    });
  });

  it("a certificate takes precedence over a token, valid or not", async () => {
    const authenticate = await open(everything());
    for (const authorization of [`Bearer ${SECRET}`, "Bearer nonsense"]) {
      expect((await authenticate({ certificate: NODE, authorization })).name).toBe("n1");
    }
  });

  it("a token is used if the certificate does not identify a caller", async () => {
    const authenticate = await open(everything());
    expect((await authenticate({ certificate: SERVER, authorization: `Bearer ${SECRET}` })).role).toBe(
      "admin",
    );
    await expect(authenticate({ certificate: SERVER })).rejects.toMatchObject(refused("is for a server"));
  });

  it("a caller without credentials gets the list of accepted methods", async () => {
    const authenticate = await open(everything());
    await expect(authenticate({})).rejects.toMatchObject(
      refused(
        "send a client certificate (spiffe://…/sdk/NODE or …/admin/NAME), or Authorization: Bearer <admin token>, or Authorization: Bearer <JWT>",
      ),
    );
    await expect(authenticate({ authorization: "Basic YTpi" })).rejects.toMatchObject(
      refused("Bearer TOKEN"),
    );
    await expect(authenticate({ authorization: "Bearer nonsense" })).rejects.toMatchObject(refused("JWT"));
  });
});

describe("a service with one authentication method", () => {
  it("client certificates are accepted only if a client CA is configured", async () => {
    const authenticate = await open({ adminTokenFile: temporaryFile("token", SECRET) });
    await expect(authenticate({ certificate: NODE })).rejects.toMatchObject(
      refused("authentication required; send Authorization: Bearer <admin token>"),
    );
    await expect(authenticate({ authorization: `Bearer ${SECRET}x` })).rejects.toMatchObject(
      refused("not the admin token"),
    );
  });

  it("no token is accepted if none is configured", async () => {
    const authenticate = await open({ clientCertificates: true, trustDomain: "lockd" });
    await expect(authenticate({ authorization: `Bearer ${SECRET}` })).rejects.toMatchObject(
      refused("send a client certificate"),
    );
    await expect(authenticate({ certificate: certificate("spiffe://evil/admin/ada") })).rejects.toMatchObject(
      refused("trust domain"),
    );
  });

  it("the service does not start with an invalid credentials file", async () => {
    const adminTokenFile = temporaryFile("token", SECRET);
    await expect(open({ adminTokenFile, jwt: { jwks: temporaryFile("jwks.json", "?") } })).rejects.toThrow(
      "JSON",
    );
    await expect(open({ adminTokenFile: "/missing" })).rejects.toThrow("/missing cannot be read");
  });
});

describe("a service without authentication", () => {
  it("without authentication every caller is an admin, and the service says that it has no authentication", async () => {
    expect(await (await open({}))({})).toEqual({ kind: "none", role: "admin", name: "loopback" });
    expect(isAuthenticationConfigured({})).toBe(false);
    expect(isAuthenticationConfigured({ clientCertificates: false, trustDomain: "lockd" })).toBe(false);
    expect(isAuthenticationConfigured({ clientCertificates: true })).toBe(true);
    expect(isAuthenticationConfigured({ adminTokenFile: "f" })).toBe(true);
    expect(isAuthenticationConfigured({ jwt: { jwks: "f" } })).toBe(true);
  });
});
