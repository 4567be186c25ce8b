import { createHmac } from "node:crypto";

/**
 * The value of the header `tenure-signature`: the time of sending in seconds since 1970, and the HMAC-SHA256 of that time, a dot and
 * the body, in hex. A receiver computes the same over the bytes that it received, and refuses an old time.
 */
export function webhookSignature(secret: string, body: string, wallMs: number): string {
  const seconds = Math.floor(wallMs / 1000);
  const mac = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  return `t=${seconds},v1=${mac}`;
}
