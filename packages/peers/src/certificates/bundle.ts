/** A bundle: private key, certificate and authority of one participant, in one PEM. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import type { SpiffeName } from "@tenure/core/internal";
import { spiffeNameOf } from "./spiffe.js";

export interface Bundle {
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
  readonly owner: SpiffeName;
  readonly expiresAtMs: number;
  /** The serial number of the certificate in hexadecimal, as in revocation lists. */
  readonly serial: string;
}

const KEY = /-----BEGIN (?:EC )?PRIVATE KEY-----[^-]+-----END (?:EC )?PRIVATE KEY-----/;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Errors name `file`. */
export function parseBundle(text: string, file: string): Bundle {
  const key = KEY.exec(text)?.[0];
  if (key === undefined)
    throw new InvalidRequestError(file, "holds no private key; tenure ca issue makes bundles");
  const privateKey = readKey(key, file);
  const all = (text.match(CERTIFICATE) ?? []).map((pem) => ({ pem, read: readCertificate(pem, file) }));
  const own = all.find(({ read }) => !read.ca);
  const authorities = all.filter(({ read }) => read.ca);
  if (own === undefined)
    throw new InvalidRequestError(file, "holds no certificate beside that of an authority");
  if (authorities.length === 0) {
    throw new InvalidRequestError(file, "holds no certificate of an authority; tenure ca issue adds it");
  }
  if (!own.read.checkPrivateKey(privateKey)) {
    throw new InvalidRequestError(file, "holds a key that does not belong to its certificate");
  }
  const owner = spiffeNameOf(own.read);
  if (owner === null) {
    throw new InvalidRequestError(file, "holds a certificate without exactly one spiffe://DOMAIN/KIND/NAME");
  }
  return {
    key,
    cert: own.pem,
    ca: authorities.map(({ pem }) => pem).join("\n"),
    owner,
    expiresAtMs: Date.parse(own.read.validTo),
    serial: own.read.serialNumber.toLowerCase(),
  };
}

export function readKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw new InvalidRequestError(file, "holds a key that cannot be read", { cause });
  }
}

export function readCertificate(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new InvalidRequestError(file, "holds a certificate that cannot be read", { cause });
  }
}
