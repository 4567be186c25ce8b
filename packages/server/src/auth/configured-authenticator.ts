/**
 * Who asks, by whatever the operator has set up: a client certificate first, then the admin token, then a JWT. A
 * certificate that names somebody settles it, and a token sent besides is not looked at; one that names nobody does not
 * stand in the way of a token.
 */
import type { Socket } from "node:net";
import type { PeerCertificate } from "node:tls";
import { AdminToken } from "./admin-token.js";
import { type Authenticator, type Credentials, LoopbackAuthenticator } from "./authenticator.js";
import { type BearerToken, readBearerToken } from "./bearer-token.js";
import type { Caller } from "./caller.js";
import { callerOfCertificate } from "./client-certificate.js";
import type { ClientTrust } from "./client-trust.js";
import type { JwtOptions, JwtVerifier } from "./jwt-verifier.js";
import type { AuthDeps } from "./deps.js";
import { unauthenticated } from "../service-error.js";

export interface AuthenticationOptions {
  /** A client CA is configured, so that TLS verifies client certificates. */
  readonly clientCertificates?: boolean | undefined;
  /** Certificates of any other trust domain are refused. */
  readonly trustDomain?: string | undefined;
  /** By which open connections are judged again when files have changed. */
  readonly trust?: (() => ClientTrust | null) | undefined;
  readonly adminTokenFile?: string | undefined;
  readonly jwt?: JwtOptions | undefined;
}

export function isAuthenticationConfigured(options: AuthenticationOptions): boolean {
  return (
    options.clientCertificates === true || options.adminTokenFile !== undefined || options.jwt !== undefined
  );
}

/** With nothing configured every caller is an admin; where that may be served is decided by `listenDanger`. */
export async function openAuthenticator(
  options: AuthenticationOptions,
  parts: AuthDeps,
): Promise<Authenticator> {
  if (!isAuthenticationConfigured(options)) return new LoopbackAuthenticator();
  const { adminTokenFile, jwt } = options;
  const adminToken = adminTokenFile === undefined ? null : await AdminToken.open(adminTokenFile, parts);
  try {
    const verifier = jwt === undefined ? null : await openVerifier(jwt, parts);
    return new ConfiguredAuthenticator(options, parts, adminToken, verifier);
  } catch (error) {
    await adminToken?.[Symbol.asyncDispose]();
    throw error;
  }
}

/** Loaded where it is wanted, as what it verifies by takes a while. */
async function openVerifier(jwt: JwtOptions, parts: AuthDeps): Promise<JwtVerifier> {
  const loaded = await import("./jwt-verifier.js");
  return loaded.JwtVerifier.open(jwt, parts);
}

class ConfiguredAuthenticator implements Authenticator {
  readonly #options: AuthenticationOptions;
  readonly #parts: AuthDeps;
  readonly #adminToken: AdminToken | null;
  readonly #jwt: JwtVerifier | null;
  readonly #accepted: string;

  constructor(
    options: AuthenticationOptions,
    parts: AuthDeps,
    adminToken: AdminToken | null,
    jwt: JwtVerifier | null,
  ) {
    this.#options = options;
    this.#parts = parts;
    this.#adminToken = adminToken;
    this.#jwt = jwt;
    this.#accepted = [
      ...(options.clientCertificates === true
        ? ["a client certificate (spiffe://…/sdk/NODE or …/admin/NAME)"]
        : []),
      ...(adminToken === null ? [] : ["Authorization: Bearer <admin token>"]),
      ...(jwt === null ? [] : ["Authorization: Bearer <JWT>"]),
    ].join(", or ");
  }

  authenticate(
    { authorization, certificate, connection }: Credentials,
    beforeVerifying?: () => void,
  ): Caller | Promise<Caller> {
    if (certificate !== undefined && this.#options.clientCertificates === true) {
      const found = this.#byCertificate(certificate, connection);
      if (!(found instanceof Error)) return found;
      if (authorization === undefined) throw found;
    }
    const takesTokens = this.#adminToken !== null || this.#jwt !== null;
    if (authorization === undefined || !takesTokens) {
      throw unauthenticated(`authentication required; send ${this.#accepted}`);
    }
    return this.#byToken(readBearerToken(authorization), beforeVerifying);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#adminToken?.[Symbol.asyncDispose]();
    await this.#jwt?.[Symbol.asyncDispose]();
  }

  #byCertificate(certificate: PeerCertificate, connection: Socket | undefined): Caller | Error {
    const nowMs = this.#parts.clock.wallMs();
    try {
      const caller = callerOfCertificate(certificate, nowMs, this.#options.trustDomain);
      // gRPC does not show its connections: its server closes all of them when trust is taken back.
      const problem =
        connection === undefined ? null : (this.#options.trust?.()?.problemOf(connection, nowMs) ?? null);
      if (problem !== null) throw unauthenticated(`the client certificate of ${caller.name}: ${problem}`);
      return caller;
    } catch (error) {
      return error as Error;
    }
  }

  #byToken(token: BearerToken, beforeVerifying?: () => void): Caller | Promise<Caller> {
    if (this.#adminToken?.matches(token) === true) return AdminToken.caller;
    if (this.#jwt !== null) return this.#jwt.verify(token, beforeVerifying);
    throw unauthenticated(`the bearer token is not the admin token; this service accepts ${this.#accepted}`);
  }
}
