/** The authority of a cluster: it signs who is who. Its key and certificate lie in one PEM. */
import "reflect-metadata";
import { randomUUID, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import { InvalidRequestError } from "@tenure/core";
import { isId } from "@tenure/core/internal";
import * as x509 from "@peculiar/x509";
import { readCertificate, readKey } from "./bundle.js";
import { type CertificateKind, checkTrustDomain, spiffeUri } from "./spiffe.js";

export type KeyKind = "p256" | "ed25519";

export interface AuthorityOptions {
  readonly trustDomain: string;
  readonly keyKind: KeyKind;
  readonly days: number;
  readonly nowMs: number;
}

export interface IssueOptions {
  readonly kind: CertificateKind;
  /** Of a server it is only shown; its node id is what names it. */
  readonly name: string;
  /** Kept from the bundle before, for servers; made anew without one. */
  readonly nodeId?: string | undefined;
  /** Names and addresses for ordinary clients, which look at them; peers do not. */
  readonly hosts: readonly string[];
  readonly days: number;
  readonly nowMs: number;
}

export interface RevokeOptions {
  /** Of certificates, in hexadecimal. None: an empty list, to begin with. */
  readonly serials: readonly string[];
  /** The list so far; what it names stays revoked. */
  readonly before: string | null;
  /** After that many days nobody is trusted by the list, so a newer one is needed. */
  readonly days: number;
  readonly nowMs: number;
}

const DAY_MS = 86_400_000;
/** Clocks of two machines may be that far apart. */
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
    checkTrustDomain(trustDomain);
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

  /** From the text that `pem` gave; `file` is named in what is wrong with it. */
  static async read(text: string, file: string): Promise<Authority> {
    const blocks = text.match(PEM) ?? [];
    const keyPem = blocks.find((block) => block.includes("PRIVATE KEY"));
    const certificatePem = blocks.find((block) => block.includes("BEGIN CERTIFICATE"));
    if (keyPem === undefined || certificatePem === undefined) {
      throw new InvalidRequestError(file, "is not the file of an authority; tenure ca init makes one");
    }
    const key = readKey(keyPem, file);
    const uri = /URI:spiffe:\/\/([a-z0-9._-]{1,255})(?:,|$)/.exec(
      readCertificate(certificatePem, file).subjectAltName ?? "",
    );
    if (uri?.[1] === undefined)
      throw new InvalidRequestError(file, "names no trust domain; make it with tenure ca init");
    const certificate = new x509.X509Certificate(certificatePem);
    const keyKind = key.asymmetricKeyType === "ed25519" ? "ed25519" : "p256";
    const raw = key.export({ type: "pkcs8", format: "der" });
    const privateKey = await webcrypto.subtle.importKey("pkcs8", raw, ALGORITHMS[keyKind], true, ["sign"]);
    const publicKey = (await certificate.publicKey.export(ALGORITHMS[keyKind], [
      "verify",
    ])) as webcrypto.CryptoKey;
    return new Authority(uri[1], keyKind, { privateKey, publicKey }, certificate);
  }

  /** Key and certificate. Whoever has it can be anybody. */
  async pem(): Promise<string> {
    return `${await privatePem(this.#keys.privateKey)}\n${this.certificatePem}\n`;
  }

  get certificatePem(): string {
    return this.#certificate.toString("pem");
  }

  /** A bundle. */
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

  /** A revocation list that takes the place of the one before. */
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
    const isClean = name.split("/").every((part) => part !== "" && part !== "." && part !== "..");
    if (!isId(name) || !isClean) {
      throw new InvalidRequestError("NAME", `is "${name}" and must be 1 to 200 of A-Z a-z 0-9 . _ : / -`);
    }
  }
}

function span(nowMs: number, days: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(nowMs - EARLIER_MS), notAfter: new Date(nowMs + days * DAY_MS) };
}

/** Positive, as the standard wants it. */
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
