import { InvalidRequestError } from "@tenure/core";

/** Loads the library of an engine, which only users of that engine have to install. */
export async function loadPeerLibrary<T>(
  engine: string,
  packages: readonly string[],
  load: () => Promise<T>,
): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    const what = `needs a library that is not installed: npm install ${packages.join(" ")}`;
    throw new InvalidRequestError("store", `${engine} ${what}`, { cause });
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
}
