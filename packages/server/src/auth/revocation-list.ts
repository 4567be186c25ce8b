/**
 * Certificate revocation lists (RFC 5280) of client authorities. OpenSSL applies them to connections that begin; for
 * those that are open already, and live for months, the lists are read here. Delta and indirect lists are not supported.
 */
import type { X509Certificate } from "node:crypto";
import { InvalidRequestError } from "@tenure/core";
import { DER, derElements, derSequence } from "./der.js";

export interface RevocationList {
  readonly pem: string;
  /** The authority's name in DER, as hexadecimal. */
  readonly issuer: string;
  /** Hexadecimal without leading zeros. */
  readonly serials: ReadonlySet<string>;
  /** After this moment OpenSSL refuses every client of this authority. `null`: the list does not say. */
  readonly nextUpdateMs: number | null;
}

const PEM = /-----BEGIN X509 CRL-----([^-]+)-----END X509 CRL-----/g;
/** Reading 16 MiB takes a good part of a second, in which nobody renews. */
const MAX_LIST_BYTES: number = 16 * 1024 * 1024;

/** One or several, in PEM. */
export function parseRevocationLists(path: string, content: Buffer): RevocationList[] {
  if (content.length > MAX_LIST_BYTES) {
    throw new InvalidRequestError(path, `is larger than ${MAX_LIST_BYTES} bytes`);
  }
  const blocks = [...content.toString("latin1").matchAll(PEM)];
  if (blocks.length === 0) {
    throw new InvalidRequestError(
      path,
      "contains no PEM revocation list; convert a DER list with openssl crl -inform DER -in LIST -out FILE",
    );
  }
  return blocks.map(([pem, base64 = ""], index) => {
    try {
      return { pem, ...read(Buffer.from(base64, "base64")) };
    } catch (cause) {
      throw new InvalidRequestError(
        path,
        `contains a revocation list that cannot be read (number ${index + 1})`,
        {
          cause,
        },
      );
    }
  });
}

export function isRevoked(certificate: X509Certificate, lists: readonly RevocationList[]): boolean {
  if (lists.length === 0) return false;
  const issuer = issuerOf(certificate);
  const serial = withoutZeros(certificate.serialNumber);
  return lists.some((list) => list.issuer === issuer && list.serials.has(serial));
}

/** The time after which a list of these has no say any more, if one has such a time. */
export function firstUpdateMs(lists: readonly RevocationList[]): number | null {
  const times = lists.flatMap(({ nextUpdateMs }) => (nextUpdateMs === null ? [] : [nextUpdateMs]));
  return times.length === 0 ? null : Math.min(...times);
}

function read(bytes: Buffer): Omit<RevocationList, "pem"> {
  const fields = derSequence(derSequence(bytes)[0]?.whole ?? Buffer.alloc(0));
  // The version is left out of old lists.
  if (fields[0]?.tag === DER.integer) fields.shift();
  const [, issuer, , ...rest] = fields;
  if (issuer === undefined) throw new RangeError("the list has no issuer");
  const nextUpdate = isTime(rest[0]?.tag) ? rest.shift() : undefined;
  const serials = new Set<string>();
  if (rest[0]?.tag === DER.sequence) {
    for (const { content } of derElements(rest[0].content)) {
      const [serial] = derElements(content);
      if (serial?.tag !== DER.integer) throw new RangeError("an entry has no serial number");
      serials.add(withoutZeros(serial.content.toString("hex")));
    }
  }
  return {
    issuer: issuer.whole.toString("hex"),
    serials,
    nextUpdateMs:
      nextUpdate === undefined ? null : timeMs(nextUpdate.tag, nextUpdate.content.toString("latin1")),
  };
}

function isTime(tag: number | undefined): boolean {
  return tag === DER.utcTime || tag === DER.generalizedTime;
}

/** `YYMMDDHHMMSSZ`, years from 1950 to 2049; or with four digits of the year. */
function timeMs(tag: number, text: string): number {
  const full = tag === DER.generalizedTime ? text : `${Number(text.slice(0, 2)) < 50 ? "20" : "19"}${text}`;
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full) ?? [];
  const [year, month, day, hour, minute, second] = parts.map(Number);
  if (year === undefined || month === undefined) throw new RangeError("a time cannot be read");
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function issuerOf({ raw }: X509Certificate): string {
  const fields = derSequence(derSequence(raw)[0]?.whole ?? Buffer.alloc(0));
  // An explicit version comes first, then serial number, algorithm and issuer.
  return fields[fields[0]?.tag === DER.integer ? 2 : 3]?.whole.toString("hex") ?? "";
}

function withoutZeros(hex: string): string {
  return hex.toLowerCase().replace(/^0+/, "");
}
