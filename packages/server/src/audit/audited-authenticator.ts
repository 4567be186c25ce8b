import type { Authenticator, Credentials } from "../auth/authenticator.js";
import type { Caller } from "../auth/caller.js";
import { certificateProblem } from "../auth/client-certificate.js";
import { ServiceError } from "../service-error.js";
import type { AuditLog, FailedLogin } from "./audit-log.js";

/** Records failed logins. Adds the origin of the request to every authenticated caller, for the audit log of what it does. */
export class AuditedAuthenticator implements Authenticator {
  readonly #inner: Authenticator;
  readonly #audit: AuditLog;

  constructor(inner: Authenticator, audit: AuditLog) {
    this.#inner = inner;
    this.#audit = audit;
  }

  authenticate(credentials: Credentials, beforeVerifying?: () => void): Caller | Promise<Caller> {
    try {
      const found = this.#inner.authenticate(credentials, beforeVerifying);
      if (!(found instanceof Promise)) return withOrigin(found, credentials);
      return found.then(
        (caller) => withOrigin(caller, credentials),
        (error: unknown) => this.#refused(error, credentials),
      );
    } catch (error) {
      return this.#refused(error, credentials);
    }
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]();
  }

  #refused(error: unknown, credentials: Credentials): never {
    if (error instanceof ServiceError && error.code === "UNAUTHENTICATED") {
      const problem = certificateProblem(credentials.connection);
      this.#audit.loginFailed({
        kind: kindOf(credentials, problem !== null),
        reason: problem === null ? error.message : `${error.message} (client certificate: ${problem})`,
        origin: credentials.origin,
      });
    }
    throw error;
  }
}

function withOrigin(caller: Caller, { origin }: Credentials): Caller {
  if (origin === undefined) return caller;
  const { kind, name, role } = caller;
  return role === "admin"
    ? { kind, name, role, origin }
    : { kind, name, role, groups: caller.groups, origin };
}

/** A certificate without a node name does not exclude a token, so it is the token that failed. */
function kindOf(
  { authorization, certificate }: Credentials,
  isCertificateShown: boolean,
): FailedLogin["kind"] {
  if (authorization === undefined) {
    return certificate !== undefined || isCertificateShown ? "certificate" : "none";
  }
  const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (token === undefined) return "other";
  return token.split(".").length === 3 ? "jwt" : "admin-token";
}
