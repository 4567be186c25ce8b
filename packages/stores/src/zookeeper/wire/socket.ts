import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { InvalidRequestError } from "@tenure/core";
import type { ServerAddress } from "../../server-url.js";

/** Files in PEM form. Read at each connect, so that renewed ones are taken up. */
export interface TlsFiles {
  /** Whom to trust, instead of the authorities that Node knows. */
  readonly ca?: string;
  /** Our own certificate and its key, for servers that ask for one. */
  readonly cert?: string;
  readonly key?: string;
}

/** A connected socket, encrypted if `tls` is given. Throws what the network said, or the signal's reason. */
export async function openSocket(
  { host, port }: ServerAddress,
  tls: TlsFiles | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const secrets = tls === undefined ? undefined : await readTlsFiles(tls);
  signal.throwIfAborted();
  const socket =
    secrets === undefined
      ? connect({ host, port, noDelay: true })
      : connectTls({ host, port, ...secrets, ...(isIP(host) === 0 ? { servername: host } : {}) });
  try {
    await once(socket, secrets === undefined ? "connect" : "secureConnect", { signal });
  } catch (error) {
    socket.on("error", () => undefined).destroy();
    signal.throwIfAborted();
    throw error;
  }
  return socket.setNoDelay(true);
}

/** Throws `InvalidRequestError` naming the one that cannot be read. */
export async function readTlsFiles(tls: TlsFiles): Promise<Record<string, Buffer>> {
  const files = Object.entries(tls).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const read = files.map(async ([name, file]) => {
    const content = await readFile(file).catch((cause: unknown) => {
      throw new InvalidRequestError(`tls.${name}`, `names the file ${file}, which cannot be read`, { cause });
    });
    return [name, content] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}
