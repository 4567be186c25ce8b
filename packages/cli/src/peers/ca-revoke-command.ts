/** `tenure ca revoke`: the revocation list of a cluster's authority, for `tenure serve --tls-crl`. */
import { InvalidRequestError } from "@tenure/core";
import { type Command, Option } from "commander";
import { newCommand, withExamples } from "../frame/elector-command.js";
import { parseWhole } from "../frame/numbers.js";
import type { OutputFlags, Shell } from "../frame/shell.js";
import { readIfThere, writePrivate } from "./private-file.js";

interface RevokeFlags extends OutputFlags {
  readonly ca: string;
  readonly out: string;
  readonly serial?: readonly string[];
  readonly days: number;
}

const MAX_DAYS = 36_500;

export function revokeCommand(shell: Shell): Command {
  const command = newCommand(shell, "revoke", "Revoke bundles: add their certificates to the revocation list")
    .argument("[bundles...]", "bundle files to revoke; without any, an empty list is created")
    .addOption(
      new Option(
        "--serial <hex...>",
        "serial numbers to revoke, if the bundle file is lost (see tenure tc status)",
      ),
    )
    .addOption(
      new Option("--out <file>", "revocation list file; existing entries are kept").default("crl.pem"),
    )
    .addOption(new Option("--ca <file>", "authority file").default("ca.pem"))
    .addOption(
      new Option(
        "--days <n>",
        "validity in days; servers refuse all client certificates after the list expires",
      )
        .argParser(parseWhole)
        .default(3650),
    )
    .addOption(new Option("--json", "print JSON"))
    .action(async (bundles: readonly string[], flags: RevokeFlags) => {
      shell.isJson = flags.json === true;
      checkDays(flags.days);
      const { Authority, parseBundle } = await import("@tenure/peers/certificates");
      const text = await readIfThere(flags.ca);
      if (text === null) {
        throw new InvalidRequestError(
          "--ca",
          `names ${flags.ca}, which does not exist; create it with tenure ca init`,
        );
      }
      const authority = await Authority.read(text, flags.ca);
      const serials = [...(flags.serial ?? [])];
      for (const file of bundles) {
        const bundle = await readIfThere(file);
        if (bundle === null) {
          throw new InvalidRequestError(file, "does not exist; if the bundle is lost, use --serial instead");
        }
        serials.push(parseBundle(bundle, file).serial);
      }
      const before = await readIfThere(flags.out);
      const { out, days } = flags;
      const list = await authority.revoke({ serials, before, days, nowMs: shell.clock.wallMs() });
      await writePrivate(out, list);
      const shown = serials.length === 0 ? "no new entries" : `revokes ${serials.join(", ")}`;
      shell.say(
        { out, revoked: serials },
        `${out}: ${shown}; copy it to every server (tenure serve --tls-crl ${out})`,
      );
    });
  return withExamples(command, "tenure ca revoke", "tenure ca revoke node-3.pem --out crl.pem");
}

/** How long a certificate, an authority or a list is valid. */
export function checkDays(days: number): void {
  if (days < 1 || days > MAX_DAYS)
    throw new InvalidRequestError("--days", `is ${days} and must be 1 to ${MAX_DAYS}`);
}
