/**
 * The files of TLS, followed as they are renewed, without a restart and without a connection lost. A renewed pair that
 * does not fit together, or half of one, is reported and changes nothing.
 */
import { constants, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContextOptions, type TLSSocket, type TlsOptions } from "node:tls";
import { type CancelTimer, InvalidRequestError } from "@tenure/core";
import { chainOf, ClientTrust, Intermediates } from "./client-trust.js";
import { modeWarning } from "./file-mode.js";
import type { AuthDeps } from "./deps.js";
import { ReloadedFiles } from "./reloaded-files.js";
import { firstUpdateMs, parseRevocationLists, type RevocationList } from "./revocation-list.js";

export interface TlsFileNames {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string | undefined;
  /** Revocation lists of the client authorities. */
  readonly crl?: string | undefined;
  /** All three are one file. */
  readonly isBundle?: boolean | undefined;
  /** @defaultValue "TLSv1.2" */
  readonly minVersion?: TlsVersion | undefined;
  /** As OpenSSL lists them. @defaultValue `DEFAULT_CIPHERS` */
  readonly ciphers?: string | undefined;
}

export type TlsVersion = "TLSv1.2" | "TLSv1.3";

/** Authenticated encryption with keys that no later theft of the server's key discloses, and nothing else. */
const DEFAULT_CIPHERS: string = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

export interface TlsContent {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer | undefined;
  readonly lists: readonly RevocationList[];
}

/** Of an `https.Server`, or of anything else that serves TLS. */
export interface TlsServer {
  setSecureContext(options: SecureContextOptions): void;
  on(event: "secureConnection", listener: (socket: TLSSocket) => void): unknown;
}

export class TlsFiles implements AsyncDisposable {
  readonly #names: TlsFileNames;
  readonly #files: ReloadedFiles<TlsContent>;
  readonly #intermediates = new Intermediates();
  readonly #listeners = new Set<(content: TlsContent) => void>();
  readonly #revokedListeners = new Set<() => void>();
  #trust: ClientTrust | null;
  #cancelUpdate: CancelTimer = () => {};
  #cancelExpiry: CancelTimer = () => {};

  private constructor(names: TlsFileNames, files: ReloadedFiles<TlsContent>) {
    this.#names = names;
    this.#files = files;
    this.#trust = trustOf(files.current, this.#intermediates);
  }

  static async open(names: TlsFileNames, { clock, log }: AuthDeps): Promise<TlsFiles> {
    const { cert, key, clientCa, crl } = names;
    checkCiphers(names);
    const paths = [cert, key, clientCa, crl].filter((path) => path !== undefined);
    let opened: TlsFiles | null = null;
    const files = await ReloadedFiles.open<TlsContent>({
      paths,
      clock,
      parse: (contents) => parseTlsFiles(names, contents),
      onChange: (content) => {
        log.info(`${paths.join(", ")} have been renewed: new connections use them`);
        if (opened !== null) opened.#take(content, names, { clock, log });
      },
      onRefused: (error) => log.warn(`${error.message}; the previous files stay in use`),
    });
    opened = new TlsFiles(names, files);
    const warning = await modeWarning(key);
    if (warning !== undefined) log.warn(warning);
    opened.#awaitUpdate(names, { clock, log });
    opened.#awaitExpiry({ clock, log });
    return opened;
  }

  /** By which the client certificates of open connections are judged; `null` without a client CA. */
  get trust(): ClientTrust | null {
    return this.#trust;
  }

  /** Of the server's own certificate, in milliseconds since 1970. */
  get validity(): { readonly fromMs: number; readonly untilMs: number } {
    const { validFrom, validTo } = new X509Certificate(this.current.cert);
    return { fromMs: Date.parse(validFrom), untilMs: Date.parse(validTo) };
  }

  get current(): TlsContent {
    return this.#files.current;
  }

  /**
   * For `https.createServer`. A client certificate is asked for and not demanded: probes and tokens come without one, and
   * a connection whose certificate was not verified is simply nobody's (`verifiedCertificate`).
   */
  serverOptions(): TlsOptions {
    const asksClients = this.current.ca !== undefined;
    return {
      ...contextOptions(this.#names, this.current),
      requestCert: asksClients,
      rejectUnauthorized: false,
    };
  }

  /** Gives the server each renewed certificate, for connections that begin later. Returns how to stop that. */
  follow(server: TlsServer): () => void {
    server.on("secureConnection", (socket) => {
      if (socket.authorized && this.#trust !== null) this.#intermediates.learn(chainOf(socket));
    });
    return this.onChange((content) => server.setSecureContext(contextOptions(this.#names, content)));
  }

  onChange(listener: (content: TlsContent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Called when a client authority is gone or a certificate was revoked: whoever was trusted may not be any more. */
  onRevoked(listener: () => void): () => void {
    this.#revokedListeners.add(listener);
    return () => this.#revokedListeners.delete(listener);
  }

  /** Looks now whether a file has changed. */
  look(): Promise<void> {
    return this.#files.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
    this.#revokedListeners.clear();
    this.#cancelUpdate();
    this.#cancelExpiry();
    await this.#files[Symbol.asyncDispose]();
  }

  #take(content: TlsContent, names: TlsFileNames, parts: AuthDeps): void {
    const before = this.#trust;
    this.#trust = trustOf(content, this.#intermediates);
    for (const listener of this.#listeners) listener(content);
    this.#awaitUpdate(names, parts);
    this.#awaitExpiry(parts);
    if (before === null || this.#trust?.takesBackFrom(before) !== true) return;
    parts.log.warn(
      `a client authority was removed, or client certificates were revoked: connections that use them lose their identity`,
    );
    for (const listener of this.#revokedListeners) listener();
  }

  /** Warns each day from 30 days before the end of the server's own certificate, and at its end. */
  #awaitExpiry(parts: AuthDeps): void {
    this.#cancelExpiry();
    const { clock, log } = parts;
    const { validTo } = new X509Certificate(this.current.cert);
    const leftMs = Date.parse(validTo) - clock.wallMs();
    if (leftMs <= 0) {
      log.warn(
        `${this.#names.cert} expired on ${validTo}: clients and other servers refuse it; replace the file with a new certificate`,
      );
      return;
    }
    if (leftMs <= EXPIRY_WARNING_MS) {
      log.warn(
        `${this.#names.cert} expires on ${validTo}, in ${Math.ceil(leftMs / DAY_MS)} days; replace the file with a new certificate`,
      );
    }
    const untilWarningMs = leftMs - EXPIRY_WARNING_MS;
    const waitMs = Math.min(untilWarningMs > 0 ? untilWarningMs : leftMs, DAY_MS);
    this.#cancelExpiry = clock.after(waitMs, () => this.#awaitExpiry(parts));
  }

  /** OpenSSL trusts nobody by a list whose time is over, which is easily taken for something else. */
  #awaitUpdate(names: TlsFileNames, parts: AuthDeps): void {
    this.#cancelUpdate();
    const untilMs = firstUpdateMs(this.current.lists);
    if (untilMs === null) return;
    const leftMs = untilMs - parts.clock.wallMs();
    if (leftMs > 0) {
      const waitMs = Math.min(leftMs, DAY_MS);
      this.#cancelUpdate = parts.clock.after(waitMs, () => this.#awaitUpdate(names, parts));
      return;
    }
    parts.log.warn(
      `${names.crl ?? ""} should have been replaced by ${new Date(untilMs).toISOString()}: ` +
        "new connections with a client certificate are refused until then; open connections are not affected",
    );
  }
}

const DAY_MS = 86_400_000;
const EXPIRY_WARNING_MS = 30 * DAY_MS;

function checkCiphers({ ciphers, minVersion }: TlsFileNames): void {
  if (ciphers === undefined) return;
  try {
    createSecureContext({ ciphers });
  } catch (cause) {
    throw new InvalidRequestError("tlsCiphers", `is "${ciphers}"; OpenSSL knows none of these ciphers`, {
      cause,
    });
  }
  if (minVersion === "TLSv1.3" && !ciphers.includes("TLS_")) {
    throw new InvalidRequestError(
      "tlsCiphers",
      (nameOf) =>
        `contains no TLS 1.3 cipher, which ${nameOf("tlsMinVersion")} requires; add one, such as TLS_AES_128_GCM_SHA256`,
    );
  }
}

function trustOf({ ca, lists }: TlsContent, intermediates: Intermediates): ClientTrust | null {
  if (ca === undefined) return null;
  return new ClientTrust(parseCertificates("client CA", ca), lists, intermediates);
}

/** Says which file is wrong, and what about it. */
function parseTlsFiles(names: TlsFileNames, contents: readonly Buffer[]): TlsContent {
  const list = names.crl === undefined ? undefined : contents.at(-1);
  const [cert, key, ca] = (names.isBundle === true ? splitBundle(names.cert, contents[0]) : contents) as [
    Buffer,
    Buffer,
    Buffer | undefined,
  ];
  const lists = names.crl === undefined || list === undefined ? [] : parseRevocationLists(names.crl, list);
  const chain = parseCertificates(names.cert, cert);
  const privateKey = parseKey(names.key, key);
  if (chain[0]?.checkPrivateKey(privateKey) !== true) {
    const isLater = chain.some((each) => each.checkPrivateKey(privateKey));
    const problem = isLater
      ? `contains the certificate of the key in ${names.key}, but not in first place; move it to the start of the file`
      : `does not belong to the key in ${names.key}`;
    throw new InvalidRequestError(names.cert, problem);
  }
  if (names.clientCa !== undefined && ca !== undefined) parseCertificates(names.clientCa, ca);
  const content: TlsContent = { cert, key, ca: names.clientCa === undefined ? undefined : ca, lists };
  try {
    createSecureContext(contextOptions(names, content));
  } catch (cause) {
    throw new InvalidRequestError(names.cert, `cannot be used for TLS: ${(cause as Error).message}`, {
      cause,
    });
  }
  return content;
}

/** Of the certificates in a bundle those of authorities say whom to trust; the rest is shown to others. */
function splitBundle(path: string, content: Buffer = Buffer.alloc(0)): [Buffer, Buffer, Buffer] {
  const blocks = content.toString("latin1").match(CERTIFICATE) ?? [];
  const isAuthority = parseCertificates(path, content).map((each) => each.ca);
  const [own, authorities] = [false, true].map((wanted) =>
    Buffer.from(blocks.filter((_, index) => isAuthority[index] === wanted).join("\n")),
  ) as [Buffer, Buffer];
  if (own.length === 0)
    throw new InvalidRequestError(path, "contains only certificates of authorities; add the server's own");
  if (authorities.length === 0) {
    throw new InvalidRequestError(path, "contains no certificate of an authority; tenure ca issue adds it");
  }
  return [own, content, authorities];
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function parseCertificates(path: string, content: Buffer): X509Certificate[] {
  const blocks = content.toString("latin1").match(CERTIFICATE);
  if (blocks === null) throw new InvalidRequestError(path, "contains no PEM certificate");
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw new InvalidRequestError(
        path,
        `contains a certificate that cannot be read (number ${index + 1})`,
        {
          cause,
        },
      );
    }
  });
}

function parseKey(path: string, content: Buffer): KeyObject {
  try {
    return createPrivateKey(content);
  } catch (cause) {
    const isEncrypted = content.includes("ENCRYPTED");
    const problem = isEncrypted
      ? "is encrypted; use a key without a passphrase"
      : "contains no private key in PEM format";
    throw new InvalidRequestError(path, problem, { cause });
  }
}

function contextOptions(
  { minVersion = "TLSv1.2", ciphers = DEFAULT_CIPHERS }: TlsFileNames,
  { cert, key, ca, lists }: TlsContent,
): SecureContextOptions {
  return {
    cert,
    key,
    ...(ca === undefined ? {} : { ca }),
    ...(lists.length === 0 ? {} : { crl: lists.map(({ pem }) => pem) }),
    minVersion,
    ciphers,
    // Who a connection belongs to is read once; it must not change afterwards.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}
