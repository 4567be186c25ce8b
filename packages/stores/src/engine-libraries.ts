import { InvalidRequestError } from "@tenure/core";

type Imports = Readonly<Record<string, () => Promise<unknown>>>;
type Loaded<T extends Imports> = { readonly [Name in keyof T]: Awaited<ReturnType<T[Name]>> };

/**
 * Imports the libraries of an engine, which only users of that engine have to install. Throws `InvalidRequestError` naming
 * every library that is missing.
 */
export async function loadLibraries<T extends Imports>(engine: string, imports: T): Promise<Loaded<T>> {
  const names = Object.keys(imports);
  const results = await Promise.allSettled(Object.values(imports).map((load) => load()));
  const failures = results.flatMap((result, i) =>
    result.status === "rejected" ? [{ name: names[i] as string, cause: result.reason as unknown }] : [],
  );
  const [first] = failures;
  if (first === undefined) {
    const loaded = results.map((result, i) => [names[i], (result as PromiseFulfilledResult<unknown>).value]);
    return Object.fromEntries(loaded) as Loaded<T>;
  }
  const broken = failures.find(({ cause }) => !isNotFound(cause));
  if (broken !== undefined) throw broken.cause;
  const missing = failures.map(({ name }) => name).join(" ");
  const problem = `${engine}: needs a library that is not installed; run: npm install ${missing}`;
  throw new InvalidRequestError("store", problem, { cause: first.cause });
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
}
