/** `tenure ca`: the authority of a cluster, and bundles for its servers and clients. */
import { InvalidRequestError } from "@tenure/core";
import type { CertificateKind, KeyKind, SpiffeName } from "@tenure/peers/certificates";
import { Argument, type Command, Option } from "commander";
import { newCommand, withExamples } from "../frame/elector-command.js";
import { parseWhole } from "../frame/numbers.js";
import type { OutputFlags, Shell } from "../frame/shell.js";
import { checkDays, revokeCommand } from "./ca-revoke-command.js";
import { readIfThere, writePrivate } from "./private-file.js";

interface InitFlags extends OutputFlags {
  readonly trustDomain: string;
  readonly out: string;
  readonly keyType: KeyKind;
  readonly days: number;
}

interface IssueFlags extends OutputFlags {
  readonly ca: string;
  readonly out: string;
  readonly host?: readonly string[];
  readonly days: number;
}

const KINDS: readonly CertificateKind[] = ["server", "tc", "sdk", "admin"];
const OWN_HOSTS = ["localhost", "127.0.0.1", "::1"];

export function caCommand(shell: Shell): Command {
  const command = newCommand(shell, "ca", "Create the certificates of a cluster")
    .addCommand(initCommand(shell))
    .addCommand(issueCommand(shell))
    .addCommand(revokeCommand(shell));
  return withExamples(command, "tenure ca init", "tenure ca issue server node-1 --out node-1.pem");
}

function initCommand(shell: Shell): Command {
  const command = newCommand(shell, "init", "Create a certificate authority; its file can sign any identity")
    .addOption(
      new Option(
        "--trust-domain <name>",
        "trust domain of all certificates that the authority signs",
      ).default("tenure"),
    )
    .addOption(
      new Option("--out <file>", "output file with the key and certificate of the authority").default(
        "ca.pem",
      ),
    )
    .addOption(new Option("--key-type <type>", "key type").choices(["p256", "ed25519"]).default("p256"))
    .addOption(new Option("--days <n>", "validity in days").argParser(parseWhole).default(3650))
    .addOption(new Option("--json", "print JSON"))
    .action(async (flags: InitFlags) => {
      shell.isJson = flags.json === true;
      checkDays(flags.days);
      if ((await readIfThere(flags.out)) !== null) {
        throw new InvalidRequestError(
          "--out",
          `names ${flags.out}, which already exists; a new authority would invalidate the certificates of the old one. Move the file away first`,
        );
      }
      const { Authority } = await import("@tenure/peers/certificates");
      const { trustDomain, keyType: keyKind, days, out } = flags;
      const authority = await Authority.create({ trustDomain, keyKind, days, nowMs: shell.clock.wallMs() });
      await writePrivate(out, await authority.pem());
      shell.say(
        { out, trust_domain: trustDomain },
        `${out}: authority of ${trustDomain}; keep this file secret`,
      );
    });
  return withExamples(command, "tenure ca init", "tenure ca init --trust-domain lockd --out lockd-ca.pem");
}

function issueCommand(shell: Shell): Command {
  const command = newCommand(shell, "issue", "Issue a bundle: key, certificate and authority in one file")
    .addArgument(new Argument("<kind>", "server, tc, sdk or admin").choices(KINDS))
    .argument("<name>", "name of the node, client or person; for a server only a label")
    .requiredOption("--out <file>", "output file; an existing server bundle keeps its node id")
    .addOption(new Option("--ca <file>", "authority file").default("ca.pem"))
    .addOption(
      new Option(
        "--host <name...>",
        `host names and addresses of a server (default ${OWN_HOSTS.join(", ")})`,
      ),
    )
    .addOption(new Option("--days <n>", "validity in days").argParser(parseWhole).default(365))
    .addOption(new Option("--json", "print JSON"))
    .action(async (kind: CertificateKind, name: string, flags: IssueFlags) => {
      shell.isJson = flags.json === true;
      checkDays(flags.days);
      const { Authority, parseBundle, spiffeUri } = await import("@tenure/peers/certificates");
      const text = await readIfThere(flags.ca);
      if (text === null)
        throw new InvalidRequestError(
          "--ca",
          `names ${flags.ca}, which does not exist; create it with tenure ca init`,
        );
      const authority = await Authority.read(text, flags.ca);
      const before = await readIfThere(flags.out);
      const owner =
        before === null ? null : checkBefore(() => parseBundle(before, flags.out).owner, kind, flags);
      const isSameServer = kind === "server" && owner?.trustDomain === authority.trustDomain;
      const bundle = await authority.issue({
        kind,
        name,
        nodeId: isSameServer ? owner.name : undefined,
        hosts: flags.host ?? OWN_HOSTS,
        days: flags.days,
        nowMs: shell.clock.wallMs(),
      });
      await writePrivate(flags.out, bundle);
      const { owner: named, serial, expiresAtMs } = parseBundle(bundle, flags.out);
      const expiresAt = new Date(expiresAtMs).toISOString();
      const uri = spiffeUri(named);
      shell.say(
        { out: flags.out, uri, serial, expires_at: expiresAt },
        `${flags.out}: ${uri}, serial ${serial}, valid until ${expiresAt}`,
      );
    });
  return withExamples(
    command,
    "tenure ca issue server node-1 --out node-1.pem --host node-1.example.org",
    "tenure ca issue tc operator --out operator.pem",
  );
}

/** An existing file is overwritten only if it is a bundle of the same kind: it might be the authority itself. */
function checkBefore(read: () => SpiffeName, kind: CertificateKind, { out }: IssueFlags): SpiffeName {
  let owner: SpiffeName;
  try {
    owner = read();
  } catch (cause) {
    throw new InvalidRequestError(
      "--out",
      `names ${out}, which exists and is not a bundle. Move the file away first`,
      {
        cause,
      },
    );
  }
  if (owner.kind === kind) return owner;
  throw new InvalidRequestError(
    "--out",
    `names ${out}, which is a bundle of kind ${owner.kind}, not ${kind}. Move the file away first`,
  );
}
