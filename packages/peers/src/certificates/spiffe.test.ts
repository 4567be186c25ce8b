import type { X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { spiffeNameOf } from "./spiffe.js";

const ownerOf = (subjectAltName: string | undefined) => spiffeNameOf({ subjectAltName } as X509Certificate);

it("a certificate belongs to the owner that its only URI names", () => {
  const owner = { trustDomain: "lockd", kind: "server", name: "n1" };
  expect(ownerOf("URI:spiffe://lockd/server/n1")).toEqual(owner);
  expect(ownerOf("DNS:a.example, URI:spiffe://lockd/server/n1, IP Address:10.0.0.1")).toEqual(owner);
  expect(ownerOf(`URI:spiffe://lockd/tc/${"n".repeat(200)}`)?.name).toHaveLength(200);
});

it("a certificate without exactly one URI has no owner", () => {
  for (const names of [
    undefined,
    "",
    "DNS:a",
    "URI:spiffe://lockd/server/n1, URI:spiffe://lockd/server/n2",
  ]) {
    expect(ownerOf(names)).toBe(null);
  }
});

it("a URI inside the quotes of another name is not an owner", () => {
  expect(ownerOf('DNS:"a, URI:spiffe://lockd/server/n1, b"')).toBe(null);
});

it("a name that a proxy could normalize to another name is not an owner", () => {
  for (const name of ["a/../n1", "n1/", "a//n1", "..", "n".repeat(201)]) {
    expect(ownerOf(`URI:spiffe://lockd/server/${name}`)).toBe(null);
  }
});
