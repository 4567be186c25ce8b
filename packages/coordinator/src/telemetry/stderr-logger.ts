import { inspect } from "node:util";
import type { Logger } from "@tenure/client";

/** The default logger: warnings and errors, on stderr. */
export const STDERR_LOGGER: Logger = { debug() {}, info() {}, warn: write, error: write };

function write(fields: object, message: string): void {
  const { err, ...rest } = fields as { readonly err?: unknown };
  const cause = err === undefined ? "" : ` ${inspect(err)}`;
  process.stderr.write(`tenure: ${message} ${JSON.stringify(rest)}${cause}\n`);
}
