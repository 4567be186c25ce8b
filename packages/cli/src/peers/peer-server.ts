/** `tenure serve --join`: opens and closes the service and a node of the cluster, in the right order. */
import { readFile } from "node:fs/promises";
import { InvalidRequestError, systemClock } from "@tenure/core";
import type { TenureServer, TenureServerDeps, TenureServerOptions } from "@tenure/server";

export interface PeerFlags {
  readonly join: string;
  readonly advertise?: string | undefined;
  readonly ttlMs: number;
}

export interface RunningServer {
  readonly server: TenureServer;
  close(): Promise<void>;
}

export async function openPeerServer(
  options: TenureServerOptions,
  flags: PeerFlags,
  deps: Pick<TenureServerDeps, "logTo">,
): Promise<RunningServer> {
  const [
    { parseServerOptions, TenureServer: Server },
    { PeerNode, parseNodeOptions },
    { parseBundle },
    { openStore },
  ] = await Promise.all([
    import("@tenure/server"),
    import("@tenure/peers"),
    import("@tenure/peers/certificates"),
    import("@tenure/stores"),
  ]);
  const { tls, listen, store: storeUrl } = parseServerOptions(options);
  const bundle = tls?.isBundle === true ? parseBundle(await read(tls.cert), tls.cert) : null;
  const given = tls?.trustDomain ?? null;
  if (bundle !== null && given !== null && given !== bundle.owner.trustDomain) {
    throw new InvalidRequestError(
      "trustDomain",
      `is ${given}, but --bundle is of ${bundle.owner.trustDomain}. With --join both must be the same; remove --trust-domain`,
    );
  }
  const nodeOptions = parseNodeOptions({ ...flags, listen, store: storeUrl, bundle });
  const store = await openStore(storeUrl);
  try {
    const node = await PeerNode.open(nodeOptions, { store, clock: systemClock, random: Math.random });
    const server = await Server.open(options, { ...deps, store, extension: node });
    try {
      await node.start();
    } catch (error) {
      await node.stop();
      await server.close();
      throw error;
    }
    return {
      server,
      close: async () => {
        // The node votes until it has left; only then its routes are closed.
        await node.leave();
        await node.stop();
        await server.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new InvalidRequestError(path, `cannot be read: ${(cause as Error).message}`, { cause });
  }
}
