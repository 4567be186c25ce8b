import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { certificateFinding, type Validity } from "@tenure/api";
import { tellDuration } from "../frame/duration.js";
import { type Finding, messageOf, ok, wrong } from "./finding.js";

export function checkValidity(about: string, validity: Validity, nowMs: number): Finding {
  const { fromMs, untilMs } = validity;
  if (fromMs > nowMs) {
    const says = `becomes valid in ${tellDuration(fromMs - nowMs)}, by this machine's clock`;
    return wrong(about, says, "compare the clocks of this machine and of the issuing authority");
  }
  const leftMs = untilMs - nowMs;
  const found = certificateFinding(validity, nowMs);
  if (found === null) return ok(about, `valid for another ${tellDuration(leftMs)}`);
  const says = leftMs <= 0 ? `expired ${tellDuration(-leftMs)} ago` : `expires in ${tellDuration(leftMs)}`;
  const advice = "renew the certificate and replace the file; servers reload it";
  return {
    level: found.severity === "problem" ? "wrong" : "warning",
    kind: found.kind,
    about,
    says,
    advice,
  };
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
