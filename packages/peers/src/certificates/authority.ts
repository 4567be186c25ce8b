/** The certificate authority of a cluster. Its key and its certificate are in one PEM file. */
import "reflect-metadata";
import { randomUUID, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import { InvalidRequestError } from "@tenure/core";
import { isSpiffeName, parseTrustDomain, spiffeUri, trustDomainOf } from "@tenure/core/internal";
import * as x509 from "@peculiar/x509";
import { readCertificate, readKey } from "./bundle.js";
import type { CertificateKind } from "./spiffe.js";

export type KeyKind = "p256" | "ed25519";

export interface AuthorityOptions {
  readonly trustDomain: string;
  readonly keyKind: KeyKind;
  readonly days: number;
  readonly nowMs: number;
}

export interface IssueOptions {
  readonly kind: CertificateKind;
  /** The common name. A server is identified by its node id; there the name is only shown to people. */
  readonly name: string;
  /** The node id of a server, from its previous bundle. @defaultValue a new one */
  readonly nodeId?: string | undefined;
  /** Host names and addresses, which ordinary clients check. Peers do not check them. */
  readonly hosts: readonly string[];
  readonly days: number;
  readonly nowMs: number;
}

export interface RevokeOptions {
  /** The serial numbers of the certificates to revoke, in hexadecimal. Empty for a first list without revocations. */
  readonly serials: readonly string[];
  /** The previous list. Its certificates stay revoked. */
  readonly before: string | null;
  /** The list expires after this many days. Servers trust no certificate by an expired list. */
  readonly days: number;
  readonly nowMs: number;
}

const DAY_MS = 86_400_000;
/** Certificates are valid from this long before now, because the clocks of two machines differ. */
const EARLIER_MS = 300_000;
const ALGORITHMS = {
  p256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  ed25519: { name: "Ed25519" },
} as const;
const PEM = /-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g;

x509.cryptoProvider.set(webcrypto as never);

export class Authority {
  readonly trustDomain: string;
  readonly #keys: webcrypto.CryptoKeyPair;
  readonly #keyKind: KeyKind;
  readonly #certificate: x509.X509Certificate;

  private constructor(
    trustDomain: string,
    keyKind: KeyKind,
    keys: webcrypto.CryptoKeyPair,
    certificate: x509.X509Certificate,
  ) {
    this.trustDomain = trustDomain;
    this.#keyKind = keyKind;
    this.#keys = keys;
    this.#certificate = certificate;
  }

  static async create({ trustDomain, keyKind, days, nowMs }: AuthorityOptions): Promise<Authority> {
    parseTrustDomain(trustDomain, "trust-domain");
    const keys = await generateKeys(keyKind);
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: serialNumber(),
      name: `CN=Tenure authority of ${trustDomain}`,
      ...span(nowMs, days),
      signingAlgorithm: ALGORITHMS[keyKind],
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        new x509.SubjectAlternativeNameExtension([{ type: "url", value: `spiffe://${trustDomain}` }]),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return new Authority(trustDomain, keyKind, keys, certificate);
  }

  /** Reads the text that `pem` returned. Errors name `file`. */
  static async read(text: string, file: string): Promise<Authority> {
    const blocks = text.match(PEM) ?? [];
    const keyPem = blocks.find((block) => block.includes("PRIVATE KEY"));
    const certificatePem = blocks.find((block) => block.includes("BEGIN CERTIFICATE"));
    if (keyPem === undefined || certificatePem === undefined) {
      throw new InvalidRequestError(file, "is not the file of an authority; tenure ca init makes one");
    }
    const key = readKey(keyPem, file);
    const trustDomain = trustDomainOf(readCertificate(certificatePem, file).subjectAltName);
    if (trustDomain === null)
      throw new InvalidRequestError(file, "names no trust domain; make it with tenure ca init");
    const certificate = new x509.X509Certificate(certificatePem);
    const keyKind = key.asymmetricKeyType === "ed25519" ? "ed25519" : "p256";
    const raw = key.export({ type: "pkcs8", format: "der" });
    const privateKey = await webcrypto.subtle.importKey("pkcs8", raw, ALGORITHMS[keyKind], true, ["sign"]);
    const publicKey = (await certificate.publicKey.export(ALGORITHMS[keyKind], [
      "verify",
    ])) as webcrypto.CryptoKey;
    return new Authority(trustDomain, keyKind, { privateKey, publicKey }, certificate);
  }

  /** Key and certificate. Its owner can issue certificates of any participant. */
  async pem(): Promise<string> {
    return `${await privatePem(this.#keys.privateKey)}\n${this.certificatePem}\n`;
  }

  get certificatePem(): string {
    return this.#certificate.toString("pem");
  }

  /** Returns a bundle. */
  async issue({ kind, name, nodeId, hosts, days, nowMs }: IssueOptions): Promise<string> {
    const owner = {
      trustDomain: this.trustDomain,
      kind,
      name: kind === "server" ? (nodeId ?? randomUUID()) : name,
    };
    checkName(name, owner.name);
    const keys = await generateKeys(this.#keyKind);
    const usages = [x509.ExtendedKeyUsage.clientAuth];
    // A server calls the others with the same certificate.
    if (kind === "server") usages.push(x509.ExtendedKeyUsage.serverAuth);
    const names: x509.JsonGeneralNames = [{ type: "url", value: spiffeUri(owner) }];
    if (kind === "server")
      for (const host of hosts) names.push({ type: isIP(host) === 0 ? "dns" : "ip", value: host });
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: `CN=${name}`,
      issuer: this.#certificate.subject,
      ...span(nowMs, days),
      signingAlgorithm: ALGORITHMS[this.#keyKind],
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension(usages),
        new x509.SubjectAlternativeNameExtension(names),
        await x509.AuthorityKeyIdentifierExtension.create(this.#keys.publicKey),
      ],
    });
    return `${await privatePem(keys.privateKey)}\n${certificate.toString("pem")}\n${this.certificatePem}\n`;
  }

  /** A revocation list that replaces the previous one. */
  async revoke({ serials, before, days, nowMs }: RevokeOptions): Promise<string> {
    const known = new Map(
      (before === null ? [] : readList(before).entries).map(
        ({ serialNumber, revocationDate }) => [serialOf(serialNumber), revocationDate] as const,
      ),
    );
    for (const serial of serials.map(serialOf)) if (!known.has(serial)) known.set(serial, new Date(nowMs));
    const list = await x509.X509CrlGenerator.create({
      issuer: this.#certificate.subject,
      thisUpdate: new Date(nowMs - EARLIER_MS),
      nextUpdate: new Date(nowMs + days * DAY_MS),
      signingAlgorithm: ALGORITHMS[this.#keyKind],
      signingKey: this.#keys.privateKey,
      entries: [...known].map(([serialNumber, revocationDate]) => ({ serialNumber, revocationDate })),
    });
    return `${pemOf("X509 CRL", list.rawData)}\n`;
  }
}

function serialOf(hex: string): string {
  const serial = hex.replaceAll(":", "").toLowerCase();
  if (!/^[0-9a-f]{1,40}$/.test(serial)) {
    throw new InvalidRequestError("serial", `is "${hex}" and must be hexadecimal`);
  }
  return serial.length % 2 === 0 ? serial : `0${serial}`;
}

function checkName(...names: readonly string[]): void {
  for (const name of names) {
    if (!isSpiffeName(name)) {
      throw new InvalidRequestError("NAME", `is "${name}" and must be 1 to 200 of A-Z a-z 0-9 . _ : / -`);
    }
  }
}

function span(nowMs: number, days: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(nowMs - EARLIER_MS), notAfter: new Date(nowMs + days * DAY_MS) };
}

/** Positive, as the standard requires. */
function serialNumber(): string {
  return `01${randomUUID().replaceAll("-", "")}`;
}

async function generateKeys(kind: KeyKind): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(ALGORITHMS[kind], true, [
    "sign",
    "verify",
  ])) as webcrypto.CryptoKeyPair;
}

function readList(pem: string): x509.X509Crl {
  try {
    return new x509.X509Crl(Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ""), "base64"));
  } catch (cause) {
    throw new InvalidRequestError("the revocation list", "cannot be read; move it away first", { cause });
  }
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  return pemOf("PRIVATE KEY", await webcrypto.subtle.exportKey("pkcs8", key));
}

function pemOf(label: string, raw: ArrayBuffer): string {
  const lines =
    Buffer.from(raw)
      .toString("base64")
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----`;
}
