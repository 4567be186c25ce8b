import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EngineProcess } from "./engine-process.js";

export type EngineName = "etcd" | "nats" | "postgres" | "zookeeper";

/** A running engine of one or more servers. Everything it made is gone after `stop`. */
export interface Engine extends AsyncDisposable {
  /** The URL for `openStore`. A test may append to its path to have data of its own. */
  readonly url: string;
  readonly nodes: readonly EngineProcess[];
  stop(): Promise<void>;
}

/** A directory for an engine's data that every user may enter, because some engines run as another user. */
export function scratchDirectory(engine: EngineName): string {
  return mkdtempSync(join(tmpdir(), `tenure-${engine}-`));
}

/** Starts all servers at once, in `directory`. If one does not become ready, all are stopped and the directory is removed. */
export async function startAll<T extends Omit<Engine, keyof AsyncDisposable | "stop">>(
  engine: T,
  directory: string,
): Promise<T & Engine> {
  const stop = async (): Promise<void> => {
    await Promise.all(engine.nodes.map((node) => node.kill()));
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    for (const node of engine.nodes) node.launch();
    await Promise.all(engine.nodes.map((node) => node.ready()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...engine, stop, [Symbol.asyncDispose]: stop };
}
