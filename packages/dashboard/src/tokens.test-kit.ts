/** Credentials for a service of a test: an admin token and other tokens, in their own directory. */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class Tokens {
  readonly admin = "an-admin-token-for-tests-only";
  readonly #directory: string = mkdtempSync(join(tmpdir(), "tenure-tokens-"));
  readonly #key: KeyObject;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    this.#key = privateKey;
    const jwk = { ...publicKey.export({ format: "jwk" }), kid: "test", alg: "EdDSA", use: "sig" };
    writeFileSync(join(this.#directory, "jwks.json"), JSON.stringify({ keys: [jwk] }));
    writeFileSync(join(this.#directory, "admin-token"), this.admin, { mode: 0o600 });
  }

  /** For `tenure serve`. */
  get args(): readonly string[] {
    const file = (name: string): string => join(this.#directory, name);
    return ["--admin-token-file", file("admin-token"), "--jwt-jwks", file("jwks.json")];
  }

  jwt(claims: Readonly<Record<string, unknown>>): string {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const nowSeconds = Math.floor(Date.now() / 1000);
    const times = { iat: nowSeconds, exp: nowSeconds + 600 };
    const signed = `${part({ alg: "EdDSA", kid: "test" })}.${part({ ...times, ...claims })}`;
    return `${signed}.${sign(null, Buffer.from(signed), this.#key).toString("base64url")}`;
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
