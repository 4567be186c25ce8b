/**
 * The files of TLS, followed as they are renewed, without a restart and without a connection lost. A renewed pair that
 * does not fit together, or half of one, is reported and changes nothing.
 */
import { constants, createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext, type SecureContextOptions, type TlsOptions } from "node:tls";
import { type Clock, InvalidRequestError } from "@tenure/core";
import { modeWarning } from "./file-mode.js";
import type { Parts } from "./parts.js";
import { ReloadedFiles } from "./reloaded-files.js";

export interface TlsFileNames {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string | undefined;
  /** All three are one file. */
  readonly isBundle?: boolean | undefined;
}

export interface TlsContent {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer | undefined;
}

/** Of an `https.Server`, or of anything else that serves TLS. */
export interface TlsServer {
  setSecureContext(options: SecureContextOptions): void;
}

export class TlsFiles implements AsyncDisposable {
  readonly #files: ReloadedFiles<TlsContent>;
  readonly #listeners: Set<(content: TlsContent) => void>;

  private constructor(files: ReloadedFiles<TlsContent>, listeners: Set<(content: TlsContent) => void>) {
    this.#files = files;
    this.#listeners = listeners;
  }

  static async open(names: TlsFileNames, { clock, log }: Parts): Promise<TlsFiles> {
    const listeners = new Set<(content: TlsContent) => void>();
    const { cert, key, clientCa } = names;
    const files = await ReloadedFiles.open<TlsContent>({
      paths: clientCa === undefined ? [cert, key] : [cert, key, clientCa],
      clock,
      parse: (contents) => parseTlsFiles(names, contents),
      onChange: (content) => {
        log.info(`${cert} and its key have been renewed: new connections use them`);
        warnOfExpiry(cert, content, clock, log);
        for (const listener of listeners) listener(content);
      },
      onRefused: (error) => log.warn(`${error.message}; the certificate read before stays in use`),
    });
    const warning = await modeWarning(key);
    if (warning !== undefined) log.warn(warning);
    warnOfExpiry(cert, files.current, clock, log);
    return new TlsFiles(files, listeners);
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
    return { ...contextOptions(this.current), requestCert: asksClients, rejectUnauthorized: false };
  }

  /** Gives the server each renewed certificate, for connections that begin later. Returns how to stop that. */
  follow(server: TlsServer): () => void {
    return this.onChange((content) => server.setSecureContext(contextOptions(content)));
  }

  onChange(listener: (content: TlsContent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Looks now whether a file has changed. */
  look(): Promise<void> {
    return this.#files.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
    await this.#files[Symbol.asyncDispose]();
  }
}

/** Says which file is wrong, and what about it. */
export function parseTlsFiles(names: TlsFileNames, contents: readonly Buffer[]): TlsContent {
  const [cert, key, ca] = (names.isBundle === true ? splitBundle(names.cert, contents[0]) : contents) as [
    Buffer,
    Buffer,
    Buffer | undefined,
  ];
  const chain = parseCertificates(names.cert, cert);
  const privateKey = parseKey(names.key, key);
  if (chain[0]?.checkPrivateKey(privateKey) !== true) {
    const isLater = chain.some((each) => each.checkPrivateKey(privateKey));
    const problem = isLater
      ? `has the certificate of the key in ${names.key}, but not as its first; the server's own must come first`
      : `does not belong to the key in ${names.key}`;
    throw new InvalidRequestError(names.cert, problem);
  }
  if (names.clientCa !== undefined && ca !== undefined) parseCertificates(names.clientCa, ca);
  try {
    createSecureContext(contextOptions({ cert, key, ca }));
  } catch (cause) {
    throw new InvalidRequestError(names.cert, `cannot be used for TLS: ${(cause as Error).message}`, {
      cause,
    });
  }
  return { cert, key, ca };
}

/** Of the certificates in a bundle those of authorities say whom to trust; the rest is shown to others. */
function splitBundle(path: string, content: Buffer = Buffer.alloc(0)): [Buffer, Buffer, Buffer] {
  const blocks = content.toString("latin1").match(CERTIFICATE) ?? [];
  const isAuthority = parseCertificates(path, content).map((each) => each.ca);
  const [own, authorities] = [false, true].map((wanted) =>
    Buffer.from(blocks.filter((_, index) => isAuthority[index] === wanted).join("\n")),
  ) as [Buffer, Buffer];
  if (own.length === 0)
    throw new InvalidRequestError(path, "holds no certificate beside that of an authority");
  if (authorities.length === 0) {
    throw new InvalidRequestError(path, "holds no certificate of an authority; tenure ca issue adds it");
  }
  return [own, content, authorities];
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function parseCertificates(path: string, content: Buffer): X509Certificate[] {
  const blocks = content.toString("latin1").match(CERTIFICATE);
  if (blocks === null) throw new InvalidRequestError(path, "holds no certificate in PEM");
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw new InvalidRequestError(path, `holds a certificate that cannot be read (number ${index + 1})`, {
        cause,
      });
    }
  });
}

function parseKey(path: string, content: Buffer): KeyObject {
  try {
    return createPrivateKey(content);
  } catch (cause) {
    const isEncrypted = content.includes("ENCRYPTED");
    const problem = isEncrypted
      ? "is encrypted; give a key without a passphrase"
      : "holds no private key in PEM";
    throw new InvalidRequestError(path, problem, { cause });
  }
}

function contextOptions({ cert, key, ca }: TlsContent): SecureContextOptions {
  return {
    cert,
    key,
    ...(ca === undefined ? {} : { ca }),
    minVersion: "TLSv1.2",
    // Who a connection belongs to is read once; it must not change afterwards.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}

function warnOfExpiry(path: string, { cert }: TlsContent, clock: Clock, log: Parts["log"]): void {
  const { validTo } = new X509Certificate(cert);
  if (Date.parse(validTo) <= clock.wallMs())
    log.warn(`${path} expired on ${validTo}: clients will refuse it`);
}
