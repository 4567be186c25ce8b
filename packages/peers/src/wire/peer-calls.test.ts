/** Calls over real TLS: the answering server is known by its certificate, and an aborted call keeps its connection. */
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { Authority } from "../certificates/authority.js";
import { type Bundle, parseBundle } from "../certificates/bundle.js";
import type { CertificateKind } from "../certificates/spiffe.js";
import { HttpTransport } from "./http-transport.js";
import { PeerCalls } from "./peer-calls.js";

let authority: Authority;
let own: Bundle;
const undo: (() => unknown)[] = [];
beforeAll(async () => {
  authority = await authorityOf("tenure");
  own = await bundleOf("server", "n1");
});
afterEach(async () => {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
});

const authorityOf = (trustDomain: string): Promise<Authority> =>
  Authority.create({ trustDomain, keyKind: "p256", days: 9, nowMs: systemClock.wallMs() });

async function bundleOf(kind: CertificateKind, name: string, by = authority): Promise<Bundle> {
  const options = { kind, name, nodeId: name, hosts: ["elsewhere"], days: 9, nowMs: systemClock.wallMs() };
  return parseBundle(await by.issue(options), name);
}

type Handler = (response: ServerResponse) => void;

async function serve(bundle: Bundle, handler: Handler): Promise<{ endpoint: string; server: Server }> {
  const server = createServer({ ...bundle, requestCert: true, rejectUnauthorized: true }, (_, response) =>
    handler(response),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  undo.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return { endpoint: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

function callsOf(clock = new VirtualClock(), tls = own): PeerCalls {
  const calls = new PeerCalls({ clock, lingerMs: 1000, trustDomain: "tenure", tls });
  undo.push(() => calls.close());
  return calls;
}

const GET = { method: "GET", path: "/" } as const;
const ok: Handler = (response) => void response.end("{}");

describe("a call to another server", () => {
  it("a call returns the identity in the answering server's certificate, whatever its endpoint", async () => {
    const { endpoint } = await serve(await bundleOf("server", "n2"), ok);
    expect(await callsOf().send(endpoint, GET)).toEqual({ status: 200, body: {}, identity: "n2" });
  });

  it("a call identifies the server on every new connection, because no TLS session is resumed", async () => {
    const { endpoint } = await serve(await bundleOf("server", "n2"), (response) => {
      response.setHeader("connection", "close").end("{}");
    });
    const calls = callsOf();
    for (let count = 0; count < 5; count++) expect((await calls.send(endpoint, GET)).identity).toBe("n2");
  });

  it.each(["tc", "sdk", "admin"] as const)(
    "a call accepts no answer with the certificate of a %s",
    async (kind) => {
      const { endpoint } = await serve(await bundleOf(kind, "n2"), ok);
      await expect(callsOf().send(endpoint, GET)).rejects.toMatchObject({ code: "INVALID_PURPOSE" });
    },
  );

  it("a call accepts no answer of a server of another trust domain, even with the same authority", async () => {
    const { endpoint } = await serve(await bundleOf("server", "n2"), ok);
    const options = { clock: new VirtualClock(), lingerMs: 0, trustDomain: "elsewhere", tls: own };
    const calls = new PeerCalls(options);
    undo.push(() => calls.close());
    await expect(calls.send(endpoint, GET)).rejects.toThrow("shows no certificate of a server of elsewhere");
  });

  it("a call accepts no answer of a server of another authority", async () => {
    const { endpoint } = await serve(await bundleOf("server", "n2", await authorityOf("tenure")), ok);
    await expect(callsOf().send(endpoint, GET)).rejects.toThrow(/certificate|socket|ECONNRESET/);
  });

  it("a call accepts no answer of a server whose certificate was revoked, not even on an open connection", async () => {
    const [gone, stays] = [await bundleOf("server", "n2"), await bundleOf("server", "n3")];
    const [there, other] = [await serve(gone, ok), await serve(stays, ok)];
    const calls = callsOf();
    expect((await calls.send(there.endpoint, GET)).identity).toBe("n2");
    const list = await authority.revoke({
      serials: [gone.serial],
      before: null,
      days: 9,
      nowMs: systemClock.wallMs(),
    });
    calls.use({ ...own, lists: [{ pem: list }] });
    await expect(calls.send(there.endpoint, GET)).rejects.toMatchObject({ code: "CERT_REVOKED" });
    expect((await calls.send(other.endpoint, GET)).identity).toBe("n3");
  });

  it("a call accepts no state that claims another identity than the certificate", async () => {
    const peer = {
      identity: "n3",
      endpoint: "e",
      disk: "d",
      term: 0,
      lease: null,
      config: null,
      founder: null,
      leading: true,
    };
    const { endpoint } = await serve(
      await bundleOf("server", "n2"),
      (response) => void response.end(JSON.stringify({ peer })),
    );
    await expect(new HttpTransport(callsOf()).state(endpoint)).rejects.toThrow("its certificate says n2");
  });

  it("an aborted call keeps its connection open, unless no answer comes for a long time", async () => {
    const clock = new VirtualClock();
    const waiting: ServerResponse[] = [];
    let arrived = (): void => {};
    const { endpoint } = await serve(await bundleOf("server", "n2"), (response) => {
      waiting.push(response);
      arrived();
    });
    const calls = callsOf(clock);
    const nextArrival = (): Promise<void> => new Promise((resolve) => (arrived = resolve));
    const limit = new AbortController();
    let isThere = nextArrival();
    const late = calls.send(endpoint, { ...GET, signal: limit.signal });
    await isThere;
    limit.abort(new Error("too late"));
    await expect(late).rejects.toThrow("too late");

    // After another full handshake the server would have noticed the end.
    isThere = nextArrival();
    const answered = calls.send(endpoint, GET);
    await isThere;
    waiting[1]?.end("{}");
    await answered;
    expect(waiting[0]?.destroyed).toBe(false);

    const closed = once(waiting[0] as ServerResponse, "close");
    await clock.advance(1000);
    await closed;
    expect(waiting[0]?.writableFinished).toBe(false);
  });
});
