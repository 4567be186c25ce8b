import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { tellDuration } from "../frame/duration.js";
import { type Finding, messageOf, ok, wrong } from "./finding.js";

const SOON_MS = 14 * 86_400_000;
/** Certificates that are valid for a day are renewed each day, so only a late renewal is reported. */
const SOON_SHARE = 1 / 3;

export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

export function checkValidity(about: string, { fromMs, untilMs }: Validity, nowMs: number): Finding {
  const leftMs = untilMs - nowMs;
  const advice = "renew the certificate and replace the file; servers reload it";
  if (leftMs <= 0) return wrong(about, `expired ${tellDuration(-leftMs)} ago`, advice);
  if (fromMs > nowMs) {
    const says = `becomes valid in ${tellDuration(fromMs - nowMs)}, by this machine's clock`;
    return wrong(about, says, "compare the clocks of this machine and of the issuing authority");
  }
  const isSoon = leftMs < SOON_MS && leftMs < SOON_SHARE * (untilMs - fromMs);
  if (isSoon) return wrong(about, `expires in ${tellDuration(leftMs)}`, advice);
  return ok(about, `valid for another ${tellDuration(leftMs)}`);
}

/** Each certificate in a file of PEM. */
export function checkCertificateFile(about: string, path: string, nowMs: number): Finding[] {
  try {
    const pems = readFileSync(path, "utf8").match(
      /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
    );
    if (pems === null) return [wrong(about, `${path} holds no certificate`, "name a PEM file")];
    return pems.map((pem) => {
      const { validFrom, validTo } = new X509Certificate(pem);
      const validity = { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
      return checkValidity(`${about} ${path}`, validity, nowMs);
    });
  } catch (error) {
    return [wrong(about, `${path} cannot be read: ${messageOf(error)}`, "name a readable PEM file")];
  }
}
