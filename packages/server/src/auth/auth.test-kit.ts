import { execFileSync } from "node:child_process";
import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JWTPayload, SignJWT } from "jose";
import type { AuthDeps } from "./deps.js";

const undo: (() => unknown)[] = [];

/** For `afterEach`: undoes what was made with this kit, in reverse order. */
export async function cleanUp(): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
}

/** Registers a function for `cleanUp`. */
export function later(step: () => unknown): void {
  undo.push(step);
}

/** Removed by `cleanUp`. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "tenure-auth-"));
  later(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A file in its own directory. */
export function temporaryFile(name: string, content: string, mode = 0o600): string {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, content, { mode });
  return path;
}

/** Closed by `cleanUp`. */
export function closing<T extends AsyncDisposable>(opened: T): T {
  later(() => opened[Symbol.asyncDispose]());
  return opened;
}

/** Keeps the lines, and lets a test await the next one that matches. */
export class RecordingLog {
  readonly lines: string[] = [];
  readonly #waiting = new Set<() => void>();

  readonly log = {
    info: (...words: unknown[]): void => this.#add("info", words),
    warn: (...words: unknown[]): void => this.#add("warn", words),
  } as AuthDeps["log"];

  warnings(): string[] {
    return this.lines.filter((line) => line.startsWith("warn "));
  }

  async until(pattern: RegExp): Promise<void> {
    while (!this.lines.some((line) => pattern.test(line))) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  #add(level: string, words: readonly unknown[]): void {
    this.lines.push(`${level} ${String(words.at(-1))}`);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

export interface TestKey {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly alg: string;
  readonly kid: string;
}

export function testKey(kid: string, alg: "EdDSA" | "ES256" | "RS256" = "EdDSA"): TestKey {
  const pair = {
    EdDSA: () => generateKeyPairSync("ed25519"),
    ES256: () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
    RS256: () => generateKeyPairSync("rsa", { modulusLength: 2048 }),
  }[alg]();
  return { ...pair, alg, kid };
}

export function jwks(...keys: readonly TestKey[]): string {
  return JSON.stringify({
    keys: keys.map((key) => ({ ...key.publicKey.export({ format: "jwk" }), kid: key.kid })),
  });
}

export function token(
  { privateKey, alg, kid }: TestKey,
  claims: JWTPayload,
  header: object = { kid },
): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg, ...header }).sign(privateKey);
}

/** Certificates made by the `openssl` command, in their own directory. */
export class TestAuthority {
  readonly directory: string = temporaryDirectory();
  readonly name: string;
  readonly cert: string = join(this.directory, "ca.crt");
  readonly #key = join(this.directory, "ca.key");

  /** Self-signed, or signed by another authority. */
  constructor(name = "test authority", above?: TestAuthority) {
    this.name = name;
    const out = ["-subj", `/CN=${name}`, "-keyout", this.#key, "-out", this.cert];
    const extensions = ["[ext]", "basicConstraints = critical,CA:TRUE", "subjectKeyIdentifier = hash"];
    const by = above === undefined ? [] : above.#signing(this.directory, "ca", extensions);
    this.#openssl(...by, ...out);
  }

  /** `altNames` as OpenSSL's configuration has them: one `TYPE.n = value` each. */
  issue(name: string, ...altNames: readonly string[]): { readonly cert: string; readonly key: string } {
    const cert = join(this.directory, `${name}.crt`);
    const key = join(this.directory, `${name}.key`);
    const extensions = [
      "[ext]",
      "basicConstraints = CA:FALSE",
      "subjectAltName = @names",
      "[names]",
      ...altNames,
    ];
    const by = this.#signing(this.directory, name, extensions);
    this.#openssl(...by, "-subj", `/CN=${name}`, "-keyout", key, "-out", cert);
    return { cert, key };
  }

  /** A revocation list of these certificates in PEM, which is due for replacement after `days`. */
  revocationList(days: number, ...revoked: readonly string[]): string {
    const [config, index, out] = ["crl.cnf", "index.txt", "list.crl"].map((name) =>
      join(this.directory, name),
    ) as [string, string, string];
    const lines = revoked.map((cert) => {
      const { serialNumber } = new X509Certificate(readFileSync(cert));
      return `R\t300101000000Z\t240101000000Z\t${serialNumber}\tunknown\t/CN=x\n`;
    });
    writeFileSync(index, lines.join(""));
    writeFileSync(config, `[ca]\ndefault_ca = own\n[own]\ndatabase = ${index}\ndefault_md = sha256\n`);
    // A number of seconds, to distinguish lists that are already outdated.
    const span = days > 0 ? ["-crldays", String(days)] : ["-crlsec", "1"];
    const by = ["-config", config, "-keyfile", this.#key, "-cert", this.cert];
    execFileSync("openssl", ["ca", "-gencrl", ...by, ...span, "-out", out], { stdio: "pipe" });
    return readFileSync(out, "utf8");
  }

  #signing(directory: string, name: string, extensions: readonly string[]): string[] {
    const config = join(directory, `${name}.cnf`);
    writeFileSync(config, ["[req]", "distinguished_name = dn", "[dn]", ...extensions, ""].join("\n"));
    return ["-CA", this.cert, "-CAkey", this.#key, "-config", config, "-extensions", "ext"];
  }

  #openssl(...args: readonly string[]): void {
    const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    execFileSync("openssl", ["req", "-x509", ...fresh, ...args], { stdio: "pipe" });
  }
}
