import { once } from "node:events";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { systemClock } from "@tenure/core";
import { VirtualClock } from "@tenure/core/testing";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, later, closing, RecordingLog, temporaryFile, TestAuthority } from "./auth.test-kit.js";
import { callerOfCertificate, verifiedCertificate } from "./client-certificate.js";
import { type TlsFileNames, TlsFiles } from "./tls-files.js";

afterEach(cleanUp);

const SERVER = ["DNS.1 = localhost", "IP.1 = 127.0.0.1"];

async function open(names: TlsFileNames, clock = new VirtualClock()) {
  const recorded = new RecordingLog();
  const files = closing(await TlsFiles.open(names, { clock, log: recorded.log }));
  return { files, recorded };
}

/** Answers each request with the name of its caller. */
async function serve(files: TlsFiles): Promise<Server> {
  const server = createServer(files.serverOptions(), ({ socket }, response) => {
    const certificate = verifiedCertificate(socket);
    if (certificate !== verifiedCertificate(socket)) return response.end("two objects");
    return response.end(
      certificate === undefined ? "nobody" : callerOfCertificate(certificate, Date.now()).name,
    );
  });
  files.follow(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  later(() => server.closeAllConnections());
  later(() => void server.close());
  return server;
}

interface Answer {
  readonly text: string;
  readonly serial: string;
}

function ask(server: Server, ca: string, client?: TlsFileNames): Promise<Answer> {
  const { port } = server.address() as AddressInfo;
  const own = client === undefined ? {} : { cert: readFileSync(client.cert), key: readFileSync(client.key) };
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, ca: readFileSync(ca), agent: false, ...own };
    const asked = request(options, (response) => {
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      response.setEncoding("utf8").on("data", (text: string) => resolve({ text, serial: serialNumber }));
    });
    asked.on("error", reject).end();
  });
}

describe("TlsFiles", () => {
  it("an invalid TLS file is refused by name", async () => {
    const authority = new TestAuthority();
    const { cert, key } = authority.issue("server", ...SERVER);
    const other = authority.issue("other", ...SERVER);
    const text = temporaryFile("text", "hello");
    await expect(open({ cert: text, key })).rejects.toThrow(`${text} contains no PEM certificate`);
    await expect(open({ cert, key: text })).rejects.toThrow(`${text} contains no private key in PEM format`);
    await expect(open({ cert, key, clientCa: text })).rejects.toThrow(`${text} contains no PEM certificate`);
    await expect(open({ cert, key: other.key })).rejects.toThrow(
      `${cert} does not belong to the key in ${other.key}`,
    );
    await expect(open({ cert: key, key: cert })).rejects.toThrow(`${key} contains no PEM certificate`);
    await expect(open({ cert: "/missing.crt", key })).rejects.toThrow("/missing.crt cannot be read: ENOENT");
    const reversed = temporaryFile(
      "chain",
      readFileSync(authority.cert, "utf8") + readFileSync(cert, "utf8"),
    );
    await expect(open({ cert: reversed, key })).rejects.toThrow("move it to the start of the file");
    const pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    await expect(open({ cert: temporaryFile("bad", pem), key })).rejects.toThrow("cannot be read (number 1)");
  });

  it("a key that others may read and an expired certificate cause a warning", async () => {
    const { cert, key } = new TestAuthority().issue("server", ...SERVER);
    const loose = temporaryFile("key", readFileSync(key, "utf8"), 0o644);
    const clock = new VirtualClock();
    const { recorded: first } = await open({ cert, key: loose }, clock);
    expect(first.warnings()).toEqual([expect.stringContaining("mode 0644")]);
    await clock.advance(Date.now() + 3 * 86_400_000 - clock.wallMs());
    const { recorded } = await open({ cert, key: loose }, clock);
    expect(recorded.warnings().at(-1)).toContain("expired on");
    // It warns while it runs too: each day of the last thirty, and once when it has expired.
    const said = first.warnings().slice(1);
    expect(said.filter((each) => each.includes("expires on"))).toHaveLength(30);
    expect(said.at(-2)).toContain("in 1 days");
    expect(said.filter((each) => each.includes("expired on"))).toHaveLength(1);
    expect(said.at(-1)).toContain("replace the file with a new certificate");
  });

  it("clients are verified by the client CA, and certificates of another CA identify no caller", async () => {
    const [ours, foreign] = [new TestAuthority(), new TestAuthority()];
    const { files } = await open({ ...ours.issue("server", ...SERVER), clientCa: ours.cert });
    const server = await serve(files);
    const node = ours.issue("node", "URI.1 = spiffe://lockd/sdk/n1");
    const stranger = foreign.issue("node", "URI.1 = spiffe://lockd/sdk/n1");
    expect((await ask(server, ours.cert, node)).text).toBe("n1");
    expect((await ask(server, ours.cert)).text).toBe("nobody");
    expect((await ask(server, ours.cert, stranger)).text).toBe("nobody");
  });

  it("a resumed TLS session identifies a caller only if its first connection did", async () => {
    const [ours, foreign] = [new TestAuthority(), new TestAuthority()];
    const { files } = await open({ ...ours.issue("server", ...SERVER), clientCa: ours.cert });
    const server = await serve(files);
    const clients = {
      n1: ours.issue("node", "URI.1 = spiffe://lockd/sdk/n1"),
      stranger: foreign.issue("node", "URI.1 = spiffe://lockd/sdk/n1"),
      bare: undefined,
    };
    for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
      for (const [name, client] of Object.entries(clients)) {
        const expected = name === "n1" ? "n1" : "nobody";
        const first = await talk(server, ours.cert, client, { maxVersion });
        const second = await talk(server, ours.cert, client, { maxVersion, session: first.session });
        expect([name, maxVersion, first.text, first.isReused]).toEqual([name, maxVersion, expected, false]);
        expect([name, maxVersion, second.text, second.isReused]).toEqual([name, maxVersion, expected, true]);
      }
    }
  });

  it("renewed TLS files are used by new connections, once certificate and key match", async () => {
    const authority = new TestAuthority();
    const { cert, key } = authority.issue("server", ...SERVER);
    const { files, recorded } = await open({ cert, key });
    const server = await serve(files);
    const before = await ask(server, authority.cert);
    const renewed = authority.issue("renewed", ...SERVER);
    copyFileSync(renewed.cert, cert);
    await files.look();
    expect(recorded.warnings()).toEqual([expect.stringContaining("stay in use")]);
    expect((await ask(server, authority.cert)).serial).toBe(before.serial);
    copyFileSync(renewed.key, key);
    await files.look();
    expect((await ask(server, authority.cert)).serial).not.toBe(before.serial);
  });

  it("a changed client CA is used", async () => {
    const [ours, later] = [new TestAuthority(), new TestAuthority()];
    const clientCa = temporaryFile("clients.crt", readFileSync(ours.cert, "utf8"));
    const { files } = await open({ ...ours.issue("server", ...SERVER), clientCa });
    const server = await serve(files);
    const node = later.issue("node", "URI.1 = spiffe://lockd/sdk/n2");
    expect((await ask(server, ours.cert, node)).text).toBe("nobody");
    writeFileSync(clientCa, readFileSync(later.cert));
    await files.look();
    expect((await ask(server, ours.cert, node)).text).toBe("n2");
  });

  it("an outdated revocation list causes a warning, at the start and when its time comes", async () => {
    const authority = new TestAuthority();
    const names = { ...authority.issue("server", ...SERVER), clientCa: authority.cert };
    const crl = temporaryFile("list.crl", authority.revocationList(1));
    const clock = new VirtualClock();
    await clock.advance(Date.now() - clock.wallMs());
    const { recorded } = await open({ ...names, crl }, clock);
    const ofList = () => recorded.warnings().filter((each) => each.includes("list.crl"));
    expect(ofList()).toEqual([]);
    await clock.advance(86_400_000);
    expect(ofList()).toEqual([expect.stringMatching(/list\.crl should have been replaced by 2/)]);
    const { recorded: later } = await open({ ...names, crl }, clock);
    expect(later.warnings().join()).toContain("should have been replaced");
  });

  it("TLS 1.2 is accepted with authenticated encryption only, unless other ciphers are given", async () => {
    const authority = new TestAuthority();
    const names = authority.issue("server", ...SERVER);
    const shake = async (given: Partial<TlsFileNames>, client: object): Promise<string> => {
      const server = await serve((await open({ ...names, ...given })).files);
      const { port } = server.address() as AddressInfo;
      const socket = connect({ host: "127.0.0.1", port, ca: readFileSync(authority.cert), ...client });
      return new Promise((resolve) => {
        socket.on("error", () => resolve("refused"));
        socket.on("secureConnect", () => {
          resolve(`${socket.getProtocol()} ${socket.getCipher().name}`);
          socket.destroy();
        });
      });
    };
    const old = { maxVersion: "TLSv1.2" };
    const [cbc, gcm] = ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-GCM-SHA256"];
    expect(await shake({}, { ...old, ciphers: cbc })).toBe("refused");
    expect(await shake({}, { ...old, ciphers: "ECDHE-ECDSA-AES256-SHA384" })).toBe("refused");
    expect(await shake({}, { ...old, ciphers: gcm })).toBe(`TLSv1.2 ${gcm}`);
    expect(await shake({}, {})).toMatch(/^TLSv1\.3 TLS_/);
    expect(await shake({ ciphers: cbc }, { ...old, ciphers: cbc })).toBe(`TLSv1.2 ${cbc}`);
    expect(await shake({ minVersion: "TLSv1.3" }, old)).toBe("refused");
    expect(await shake({ minVersion: "TLSv1.3" }, {})).toMatch(/^TLSv1\.3/);
    await expect(open({ ...names, ciphers: "NO-SUCH-CIPHER" })).rejects.toThrow(/^tlsCiphers is "NO-SUCH/);
    await expect(open({ ...names, ciphers: gcm, minVersion: "TLSv1.3" })).rejects.toThrow(
      /^tlsCiphers contains no TLS 1\.3 cipher/,
    );
  });

  it("changed TLS files are noticed without a call", async () => {
    const authority = new TestAuthority();
    const { cert, key } = authority.issue("server", ...SERVER);
    const recorded = new RecordingLog();
    const files = closing(await TlsFiles.open({ cert, key }, { clock: systemClock, log: recorded.log }));
    const renewed = authority.issue("renewed", ...SERVER);
    copyFileSync(renewed.key, key);
    copyFileSync(renewed.cert, cert);
    await recorded.until(/have been renewed/);
    expect(files.current.cert).toEqual(readFileSync(renewed.cert));
  });
});

/** One request on its own connection, and the session by which another may resume it. */
async function talk(
  server: Server,
  ca: string,
  client: TlsFileNames | undefined,
  options: { readonly maxVersion: "TLSv1.2" | "TLSv1.3"; readonly session?: Buffer },
): Promise<{ readonly text: string; readonly session: Buffer; readonly isReused: boolean }> {
  const { port } = server.address() as AddressInfo;
  const own = client === undefined ? {} : { cert: readFileSync(client.cert), key: readFileSync(client.key) };
  const socket = connect({ host: "127.0.0.1", port, ca: readFileSync(ca), ...own, ...options });
  let session = options.session ?? Buffer.alloc(0);
  socket.on("session", (given: Buffer) => {
    session = given;
  });
  let isReused = false;
  socket.on("secureConnect", () => {
    isReused = socket.isSessionReused();
  });
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  const chunked = /\r\n\r\n(?:[0-9a-f]+\r\n)?(\w+)/.exec(text)?.[1] ?? "";
  return { text: chunked, session, isReused };
}
