/**
 * Keys as names in a key-value bucket, whose alphabet is `[-/_=.a-zA-Z0-9]` with no dot at either end. Ids of ordinary
 * characters stay as they are, so that `nats kv ls` can be read. Every other byte of the key's UTF-8 is `=` and two
 * hexadecimal digits; so is `=` itself, and a dot that would begin, end or double.
 *
 * A name is a subject, and the line that carries it has 4096 bytes on a server with default settings, which ends the
 * connection beyond that. So a name of more than `MAX_NAME_LENGTH` gives way to a hash, and goes along in a header.
 */
import { createHash } from "node:crypto";

/** No key has these names: their `=` is not followed by hexadecimal digits. */
const BARRIER = "=head.";
const HASHED = "=long.";

const MAX_NAME_LENGTH = 1024;
const PLAIN = /^[A-Za-z0-9_/-]+(?:\.[A-Za-z0-9_/-]+)*$/;
/** A dot is escaped unless there is something other than a dot on both sides. */
const SPECIAL = /[^A-Za-z0-9_/.-]+|^\.+|\.+$|\.{2,}/gu;
const ESCAPED = /(?:=[0-9A-F]{2})+/g;

export interface KeyName {
  readonly name: string;
  /** The whole name, where `name` is only its hash. */
  readonly whole: string | null;
}

export function keyNameOf(key: string): KeyName {
  const whole = PLAIN.test(key) ? key : key.replace(SPECIAL, escape);
  if (whole.length <= MAX_NAME_LENGTH) return { name: whole, whole: null };
  return { name: HASHED + createHash("sha256").update(whole).digest("hex"), whole };
}

/** A name for barriers. */
export function barrierNameOf(index: number): string {
  return `${BARRIER}${index}`;
}

export function isBarrierName(name: string): boolean {
  return name.startsWith(BARRIER);
}

/** The key of a name that `keyNameOf` has given; `null` for what others have put into the bucket, and for a barrier. */
export function keyOfName(name: string, whole: () => string | undefined): string | null {
  if (PLAIN.test(name)) return name.length <= MAX_NAME_LENGTH ? name : null;
  const text = name.startsWith(HASHED) ? whole() : name;
  if (text === undefined) return null;
  const key = text.replace(ESCAPED, unescape);
  // Whatever does not come out again is not ours: another spelling of a key would be a second entry of it.
  const again = keyNameOf(key);
  return again.name === name && (again.whole ?? again.name) === text ? key : null;
}

function escape(text: string): string {
  let escaped = "";
  for (const byte of Buffer.from(text, "utf8")) {
    escaped += `=${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return escaped;
}

function unescape(text: string): string {
  return Buffer.from(text.replaceAll("=", ""), "hex").toString("utf8");
}
