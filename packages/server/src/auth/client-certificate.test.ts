import { readFileSync } from "node:fs";
import { X509Certificate } from "node:crypto";
import type { PeerCertificate } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { cleanUp, TestAuthority } from "./auth.test-kit.js";
import { callerOfCertificate } from "./client-certificate.js";

afterEach(cleanUp);

const VALID_TO = "Mar 12 10:00:00 2030 GMT";
const BEFORE_MS = Date.parse(VALID_TO) - 1;

function certificate(subjectaltname: string | undefined): PeerCertificate {
  return { subjectaltname, valid_to: VALID_TO } as PeerCertificate;
}

const caller = (subjectaltname: string | undefined, trustDomain?: string) =>
  callerOfCertificate(certificate(subjectaltname), BEFORE_MS, trustDomain);

function refusal(subjectaltname: string | undefined, trustDomain?: string): string {
  try {
    return `accepted as ${JSON.stringify(caller(subjectaltname, trustDomain))}`;
  } catch (error) {
    expect(error).toMatchObject({ code: "UNAUTHENTICATED" });
    return (error as Error).message;
  }
}

describe("a client certificate", () => {
  it("a client certificate names a node of all groups, or an admin", () => {
    expect(caller("URI:spiffe://lockd/sdk/n1")).toEqual({
      kind: "certificate",
      role: "node",
      name: "n1",
      groups: null,
    });
    expect(caller("URI:spiffe://lockd/admin/ada")).toEqual({
      kind: "certificate",
      role: "admin",
      name: "ada",
    });
    expect(caller('DNS:a, URI:"spiffe://lockd/sdk/team:a/n-1_x.y", IP Address:10.0.0.1')).toEqual({
      kind: "certificate",
      role: "node",
      name: "team:a/n-1_x.y",
      groups: null,
    });
  });

  it("a client certificate of a server or of any other kind is refused, and the error names the kind", () => {
    for (const kind of ["server", "tc", "sdkx", "observer"]) {
      expect(refusal(`URI:spiffe://lockd/${kind}/n1`)).toContain(`is for a ${kind}`);
    }
  });

  it("a client certificate must have exactly one URI", () => {
    for (const names of [undefined, "", "DNS:spiffe://lockd/sdk/n1", "email:URI:spiffe://lockd/sdk/n1"]) {
      expect(refusal(names)).toContain("no URI");
    }
    expect(refusal("URI:spiffe://lockd/sdk/n1, URI:spiffe://lockd/admin/n1")).toContain("2 URIs");
    expect(refusal("URI:spiffe://lockd/sdk/n1, URI:https://example.org")).toContain("2 URIs");
  });

  it("a quoted name in a client certificate cannot hide a second name", () => {
    expect(refusal('DNS:"a, URI:spiffe://lockd/admin/ada"')).toContain("no URI");
    expect(caller('DNS:"a, URI:spiffe://lockd/admin/ada", URI:spiffe://lockd/sdk/n1').role).toBe("node");
    expect(refusal('URI:"spiffe://lockd/sdk/n1, URI:spiffe://lockd/admin/ada"')).toContain(
      "is not spiffe://",
    );
    expect(refusal('URI:"spiffe://lockd/sdk/n1\\u0000"')).toContain("is not spiffe://");
    for (const broken of [
      'URI:"spiffe://lockd/sdk/n1',
      'URI:spiffe://a/sdk/"b"',
      "URI",
      "URI:a,URI:b",
      'URI:"\\x"',
    ]) {
      expect(refusal(broken)).toContain("cannot be read");
    }
  });

  it("a client certificate with an ambiguous URI is refused", () => {
    const uris = [
      "http://lockd/sdk/n1",
      "SPIFFE://lockd/sdk/n1",
      "spiffe:/lockd/sdk/n1",
      "spiffe://lockd/sdk/",
      "spiffe://lockd/sdk",
      "spiffe://lockd/sdk//n1",
      "spiffe://lockd//sdk/n1",
      "spiffe://lockd/sdk/n1/",
      "spiffe://lockd/sdk/a/../n1",
      "spiffe://lockd/sdk/..",
      "spiffe://lockd/sdk/.",
      "spiffe:///sdk/n1",
      "spiffe://LOCKD/sdk/n1",
      "spiffe://lockd:443/sdk/n1",
      "spiffe://me@lockd/sdk/n1",
      "spiffe://lockd/sdk/n%31",
      "spiffe://lockd/sdk%2Fn1",
      "spiffe://lockd/SDK/n1",
      "spiffe://lockd/sdk/n1?x",
      "spiffe://lockd/sdk/n1#x",
      "spiffe://lockd/sdk/n 1",
      "spiffe://lockd/sdk/n1\n",
      "spiffe://lockd/x/sdk/n1%",
      " spiffe://lockd/sdk/n1",
    ];
    for (const uri of uris)
      expect([uri, refusal(`URI:${JSON.stringify(uri)}`)]).toEqual([
        uri,
        expect.stringContaining("is not spiffe://"),
      ]);
    expect(refusal(`URI:spiffe://lockd/sdk/${"n".repeat(201)}`)).toContain("is not a valid id");
  });

  it("a client certificate must be of the configured trust domain", () => {
    expect(caller("URI:spiffe://lockd/sdk/n1", "lockd").name).toBe("n1");
    expect(refusal("URI:spiffe://evil/sdk/n1", "lockd")).toContain("trust domain evil");
    expect(refusal("URI:spiffe://lockd.evil/sdk/n1", "lockd")).toContain("trust domain lockd.evil");
  });

  it("a client certificate that has expired since its connection began is refused", () => {
    const shown = certificate("URI:spiffe://lockd/sdk/n1");
    expect(callerOfCertificate(shown, BEFORE_MS).name).toBe("n1");
    expect(() => callerOfCertificate(shown, BEFORE_MS + 1)).toThrow(`n1 expired on ${VALID_TO}`);
    const undated = { ...shown, valid_to: "?" };
    expect(() => callerOfCertificate(undated, BEFORE_MS)).toThrow("expired");
  });

  it("a client certificate is read in the format that Node prints for a real one", () => {
    const authority = new TestAuthority();
    const read = (name: string, ...altNames: string[]) => {
      const x509 = new X509Certificate(readFileSync(authority.issue(name, ...altNames).cert));
      return { subjectaltname: x509.subjectAltName, valid_to: x509.validTo } as PeerCertificate;
    };
    const plain = read("plain", "URI.1 = spiffe://lockd/sdk/n1", "DNS.1 = localhost", "IP.1 = 127.0.0.1");
    expect(callerOfCertificate(plain, Date.now()).name).toBe("n1");
    const sly = read("sly", "URI.1 = spiffe://lockd/sdk/n1\\, URI:spiffe://lockd/admin/ada");
    expect(sly.subjectaltname).toContain('"');
    expect(() => callerOfCertificate(sly, Date.now())).toThrow("is not spiffe://");
    const dns = read("dns", "DNS.1 = x\\, URI:spiffe://lockd/admin/ada");
    expect(() => callerOfCertificate(dns, Date.now())).toThrow("no URI");
  });
});
