import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A self-signed certificate for this machine, valid from and until these days relative to now. Made by `openssl`. Certificates that
 * are trusted at the same time need different names.
 */
export function certificate(
  directory: string,
  fromDays: number,
  untilDays: number,
  name = "127.0.0.1",
): { readonly cert: string; readonly key: string } {
  const [cert, key, request, config] = ["cert.pem", "key.pem", "request.pem", "openssl.cnf"].map((name) =>
    join(directory, name),
  ) as [string, string, string, string];
  writeFileSync(
    config,
    [
      "[req]",
      "distinguished_name = dn",
      "[dn]",
      "[ca]",
      "default_ca = own",
      "[own]",
      `database = ${join(directory, "index.txt")}`,
      `new_certs_dir = ${directory}`,
      "rand_serial = yes",
      "default_md = sha256",
      "policy = any",
      "x509_extensions = ext",
      "[any]",
      "commonName = supplied",
      "[ext]",
      "basicConstraints = CA:TRUE",
      "subjectAltName = IP:127.0.0.1",
      "",
    ].join("\n"),
  );
  writeFileSync(join(directory, "index.txt"), "");
  const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", `/CN=${name}`];
  openssl("req", ...fresh, "-config", config, "-keyout", key, "-out", request);
  const span = ["-startdate", dayText(fromDays), "-enddate", dayText(untilDays)];
  openssl(
    "ca",
    "-batch",
    "-selfsign",
    "-config",
    config,
    "-keyfile",
    key,
    "-in",
    request,
    "-out",
    cert,
    "-notext",
    ...span,
  );
  return { cert, key };
}

/** The date format of openssl: 20260102030405Z. */
function dayText(days: number): string {
  const iso = new Date(Date.now() + days * 86_400_000).toISOString();
  return `${iso.slice(0, 19).replaceAll(/[-:T]/g, "")}Z`;
}

function openssl(...args: readonly string[]): void {
  execFileSync("openssl", args, { stdio: "pipe" });
}
