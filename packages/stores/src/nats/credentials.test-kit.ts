/** An operator, an account and a user, made on the spot: what `nsc` does, as far as a test needs it. */
import { createHash } from "node:crypto";
import { nkeys } from "@nats-io/transport-node";

type KeyPair = ReturnType<typeof nkeys.createUser>;

function encoded(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

function claims(issuer: KeyPair, subject: KeyPair, name: string, nats: object): string {
  const body = { iat: 1, iss: issuer.getPublicKey(), sub: subject.getPublicKey(), name, nats };
  const jti = createHash("sha256").update(JSON.stringify(body)).digest("hex");
  const signed = `${encoded({ typ: "JWT", alg: "ed25519-nkey" })}.${encoded({ ...body, jti })}`;
  const signature = issuer.sign(new TextEncoder().encode(signed));
  return `${signed}.${Buffer.from(signature).toString("base64url")}`;
}

/** The lines of a server's configuration, and the content of the file that gives access to it. */
export function makeCredentials(): { readonly config: string; readonly file: string } {
  const [operator, system, account, user] = [
    nkeys.createOperator(),
    nkeys.createAccount(),
    nkeys.createAccount(),
    nkeys.createUser(),
  ];
  const unlimited = {
    subs: -1,
    data: -1,
    payload: -1,
    imports: -1,
    exports: -1,
    wildcards: true,
    conn: -1,
    leaf: -1,
  };
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const ofOperator = claims(operator, operator, "operator", { type: "operator", version: 2 });
  const ofAccount = (subject: KeyPair, limits: object) =>
    claims(operator, subject, "account", { type: "account", version: 2, limits });
  const ofUser = claims(account, user, "user", { type: "user", version: 2, subs: -1, data: -1, payload: -1 });
  const preload = [
    `${system.getPublicKey()}: ${ofAccount(system, unlimited)}`,
    `${account.getPublicKey()}: ${ofAccount(account, { ...unlimited, ...storage })}`,
  ];
  const config = [
    `operator: ${ofOperator}`,
    `system_account: ${system.getPublicKey()}`,
    "resolver: MEMORY",
    `resolver_preload: { ${preload.join(", ")} }`,
  ].join("\n");
  const seed = new TextDecoder().decode(user.getSeed());
  const file = [
    `-----BEGIN NATS USER JWT-----\n${ofUser}\n------END NATS USER JWT------\n`,
    `-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`,
  ].join("\n");
  return { config, file };
}
