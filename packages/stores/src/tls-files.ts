import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { InvalidRequestError } from "@tenure/core";

/** Paths of PEM files. They are read again for each connection, so that certificates can be renewed. */
export interface TlsFiles {
  /** Certificate authorities to trust instead of those of the system. */
  readonly ca?: string;
  /** Client certificate and its key, for servers that ask for one. */
  readonly cert?: string;
  readonly key?: string;
}

export type TlsCertificates = { readonly [Name in keyof TlsFiles]: Buffer };

/** Throws `InvalidRequestError` naming a file that cannot be read, or `tls` if the files do not fit. */
export async function readTlsFiles(files: TlsFiles): Promise<TlsCertificates> {
  const certificates: { -readonly [Name in keyof TlsFiles]: Buffer } = {};
  for (const [name, path] of Object.entries(files) as [keyof TlsFiles, string][]) {
    certificates[name] = await readOptionFile(`tls.${name}`, path);
  }
  try {
    createSecureContext(certificates);
  } catch (cause) {
    throw new InvalidRequestError("tls", "has files that are not PEM, or a key that does not fit the cert", {
      cause,
    });
  }
  return certificates;
}

/** Throws `InvalidRequestError` (`field`) if the file cannot be read. */
export async function readOptionFile(field: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new InvalidRequestError(field, `names the file ${path}, which cannot be read`, { cause });
  }
}
