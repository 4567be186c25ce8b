import { stat } from "node:fs/promises";

/** To read it is to have the secret; to write it is to choose the secret. */
const GROUP_OR_WORLD_ACCESS = 0o066;

/** A sentence to print if others than its owner may read or change a file that holds a secret. */
export async function modeWarning(path: string): Promise<string | undefined> {
  const { mode } = await stat(path);
  if ((mode & GROUP_OR_WORLD_ACCESS) === 0) return undefined;
  const octal = (mode & 0o777).toString(8).padStart(4, "0");
  return `${path} contains a secret and has mode ${octal}: other users may read or change it; run chmod 600 on it`;
}
