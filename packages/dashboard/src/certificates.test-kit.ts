/**
 * Certificates as an operator makes them, and browsers in which a user has installed one: in the database where
 * Chromium looks for them, beneath its own home directory. A dialog asks a user which one to show; here the browser's
 * policy answers, which is read from a place that only root can provide: so each browser runs in a mount namespace.
 * Needs root, `openssl` and the tools of NSS.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Browser, CHROMIUM } from "./browser.test-kit.js";

const COMMAND = fileURLToPath(new URL("../../cli/bin/tenure.js", import.meta.url));
const POLICY_DIRECTORY = "/etc/chromium";

export class Certificates {
  readonly #directory: string = mkdtempSync(join(tmpdir(), "tenure-certificates-"));

  constructor() {
    this.#tenure("ca", "init", "--out", this.file("ca"));
    this.#issue("server", "server", "--host", "127.0.0.1");
  }

  file(name: string): string {
    return join(this.#directory, `${name}.pem`);
  }

  /** For `tenure serve`. */
  get args(): readonly string[] {
    return ["--bundle", this.file("server")];
  }

  /** For the other commands: key, certificate and authority are in one file. */
  argsOf(name: string): readonly string[] {
    const file = this.file(name);
    return ["--ca", file, "--cert", file, "--key", file];
  }

  issue(kind: "admin" | "sdk", name: string): void {
    this.#issue(kind, name);
  }

  /** A browser that trusts our authority, with this certificate installed; `null`: without one. */
  async browser(name: string | null, url: string, args: readonly string[] = []): Promise<Browser> {
    const home = mkdtempSync(join(this.#directory, "home-"));
    const database = join(home, ".pki/nssdb");
    mkdirSync(database, { recursive: true });
    const nss = ["-d", `sql:${database}`];
    run("certutil", ["-N", ...nss, "--empty-password"]);
    run("certutil", ["-A", ...nss, "-n", "authority", "-t", "C,,", "-i", this.#authority()]);
    if (name !== null) run("pk12util", ["-i", this.#exported(name), ...nss, "-W", "export"]);
    return Browser.launch({ executablePath: this.#launcher(home, url), home, args });
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #issue(kind: string, name: string, ...more: readonly string[]): void {
    this.#tenure("ca", "issue", kind, name, "--ca", this.file("ca"), "--out", this.file(name), ...more);
  }

  #tenure(...args: readonly string[]): void {
    run(process.execPath, [COMMAND, ...args]);
  }

  #authority(): string {
    const path = join(this.#directory, "authority.crt");
    run("openssl", ["x509", "-in", this.file("ca"), "-out", path]);
    return path;
  }

  #exported(name: string): string {
    const path = join(this.#directory, `${name}.p12`);
    const made = ["-in", this.file(name), "-out", path, "-name", name, "-passout", "pass:export"];
    run("openssl", ["pkcs12", "-export", ...made]);
    return path;
  }

  #launcher(home: string, url: string): string {
    const policies = join(home, "policies");
    mkdirSync(join(policies, "policies/managed"), { recursive: true });
    const shown = JSON.stringify({ pattern: url, filter: {} });
    writeFileSync(
      join(policies, "policies/managed/tenure.json"),
      JSON.stringify({ AutoSelectCertificateForUrls: [shown] }),
    );
    const path = join(home, "chromium");
    const inside = `mount --bind '${policies}' ${POLICY_DIRECTORY} && exec '${CHROMIUM}' "$@"`;
    writeFileSync(path, `#!/bin/sh\nexec unshare --mount sh -c ${quoted(inside)} chromium "$@"\n`);
    chmodSync(path, 0o700);
    return path;
  }
}

function run(file: string, args: readonly string[]): void {
  execFileSync(file, args, { stdio: "pipe" });
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
