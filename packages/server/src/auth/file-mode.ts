import { stat } from "node:fs/promises";

const GROUP_OR_WORLD_READ = 0o044;

/** A sentence to print if others than its owner may read a file that holds a secret. */
export async function modeWarning(path: string): Promise<string | undefined> {
  const { mode } = await stat(path);
  if ((mode & GROUP_OR_WORLD_READ) === 0) return undefined;
  const octal = (mode & 0o777).toString(8).padStart(4, "0");
  return `${path} holds a secret and has mode ${octal}: others may read it; chmod 600 it`;
}
