/** `tenure config`: contexts, each a name for a server or a store with its credentials. */
import { chmod, mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { InvalidRequestError } from "@tenure/core";
import { type Command, Option } from "commander";
import {
  type ConfigFile,
  configPath,
  configText,
  type Context,
  type ContextField,
  noContext,
  readConfig,
} from "../frame/contexts.js";
import { withScheme } from "../frame/connection.js";
import { newCommand, withExamples } from "../frame/elector-command.js";
import { EXIT, type Shell } from "../frame/shell.js";
import { writePrivate } from "../peers/private-file.js";

interface ContextFlags {
  readonly server?: string;
  readonly store?: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly json?: true;
}

const PRIVATE_DIRECTORY = 0o700;

export function configCommand(shell: Shell): Command {
  const command = newCommand(shell, "config", "Manage contexts: named servers with their credentials")
    .addCommand(setContextCommand(shell))
    .addCommand(useContextCommand(shell))
    .addCommand(getContextsCommand(shell))
    .addCommand(currentContextCommand(shell))
    .addCommand(viewCommand(shell))
    .addCommand(deleteContextCommand(shell));
  command.addHelpText(
    "after",
    "\nThe file is TENURE_CONFIG, otherwise tenure/config.json in XDG_CONFIG_HOME or ~/.config.\n" +
      "Options take precedence over the environment, and the environment over the context.",
  );
  return withExamples(
    command,
    "tenure config set-context prod --server https://tenure.example:7420 --token-file ~/.tenure-token",
    "tenure config use-context prod",
    "tenure leader billing --context prod",
  );
}

function setContextCommand(shell: Shell): Command {
  const command = actingCommand(shell, "set-context", "Create a context, or change the given fields of one")
    .argument("<name>")
    .option("--server <url>", "comma-separated server URLs")
    .option("--store <url>", "store URL, instead of a server")
    .option("--token-file <file>", "file with a bearer token; the token itself is never stored here")
    .option("--ca <file>", "CA certificate file")
    .option("--cert <file>", "client certificate file")
    .option("--key <file>", "private key file of the client certificate")
    .action(async (name: string, flags: ContextFlags) => {
      if (flags.server !== undefined && flags.store !== undefined) {
        throw new InvalidRequestError("store", "cannot be combined with --server; use one of them");
      }
      const { path, config } = open(shell, flags);
      const before = config.contexts.get(name);
      const { server, store, ...rest } = { ...before, ...fieldsOf(flags) };
      // A server replaces a store, and the other way round.
      const target =
        flags.store === undefined && server !== undefined ? { server } : store === undefined ? {} : { store };
      if (Object.keys(target).length === 0) {
        throw new InvalidRequestError(
          "server",
          `is missing; give --server or --store for the context ${name}`,
        );
      }
      const contexts = new Map(config.contexts).set(name, { ...target, ...rest });
      // The first context is the one to use.
      const current = config.current ?? name;
      await save(path, { current, contexts });
      const inUse = current === name ? "; it is the current context" : `; use it with --context ${name}`;
      shell.say(
        { ok: true, context: name },
        `context ${name} ${before === undefined ? "created" : "changed"}${inUse}`,
      );
    });
  return withExamples(
    command,
    "tenure config set-context prod --server https://a:7420,https://b:7420 --ca ca.pem --token-file token",
    "tenure config set-context local --store embedded:./tenure-data",
  );
}

function useContextCommand(shell: Shell): Command {
  const command = actingCommand(shell, "use-context", "Make a context the current one")
    .argument("<name>")
    .action(async (name: string, flags: ContextFlags) => {
      const { path, config } = open(shell, flags);
      if (!config.contexts.has(name)) throw noContext(name, config.contexts, path);
      await save(path, { ...config, current: name });
      shell.say({ ok: true, context: name }, `${name} is the current context`);
    });
  return withExamples(command, "tenure config use-context prod");
}

function getContextsCommand(shell: Shell): Command {
  const command = actingCommand(shell, "get-contexts", "List the contexts").action((flags: ContextFlags) => {
    const { config } = open(shell, flags);
    const rows = [...config.contexts].map(([name, { server, store, token_file: token, cert }]) => [
      name === config.current ? "*" : "",
      name,
      server ?? store ?? "",
      token === undefined ? (cert === undefined ? "-" : "certificate") : "token",
    ]);
    const lines =
      rows.length === 0
        ? ["there are no contexts; create one with tenure config set-context"]
        : shell.table([["CURRENT", "NAME", "SERVER OR STORE", "CREDENTIALS"], ...rows]);
    shell.say(shapeOf(config), ...lines);
  });
  return withExamples(command, "tenure config get-contexts");
}

function currentContextCommand(shell: Shell): Command {
  const command = actingCommand(
    shell,
    "current-context",
    "Print the name of the current context; exit code 1 if there is none",
  ).action((flags: ContextFlags) => {
    const { config } = open(shell, flags);
    if (config.current === null) {
      shell.remark("there is no current context; choose one with tenure config use-context");
      shell.exitCode = EXIT.failed;
      return;
    }
    shell.say({ context: config.current }, config.current);
  });
  return withExamples(command, "tenure config current-context");
}

function viewCommand(shell: Shell): Command {
  const command = actingCommand(shell, "view", "Print the configuration file").action(
    (flags: ContextFlags) => {
      const { config } = open(shell, flags);
      shell.say(shapeOf(config), configText(config).trimEnd());
    },
  );
  return withExamples(command, "tenure config view");
}

function deleteContextCommand(shell: Shell): Command {
  const command = actingCommand(shell, "delete-context", "Delete a context; its files stay")
    .argument("<name>")
    .action(async (name: string, flags: ContextFlags) => {
      const { path, config } = open(shell, flags);
      const contexts = new Map(config.contexts);
      if (!contexts.delete(name)) throw noContext(name, config.contexts, path);
      const current = config.current === name ? null : config.current;
      await save(path, { current, contexts });
      const next = current === null ? "; choose another one with tenure config use-context" : "";
      shell.say({ ok: true, context: name }, `context ${name} deleted${next}`);
    });
  return withExamples(command, "tenure config delete-context prod");
}

function actingCommand(shell: Shell, name: string, description: string): Command {
  return newCommand(shell, name, description).addOption(new Option("--json", "print JSON"));
}

function open(shell: Shell, { json }: ContextFlags): { path: string; config: ConfigFile } {
  shell.isJson = json === true;
  const path = configPath(shell.env);
  if (path === null) throw new InvalidRequestError("TENURE_CONFIG", "and HOME are not set; set one of them");
  return { path, config: readConfig(path) };
}

async function save(path: string, config: ConfigFile): Promise<void> {
  const directory = dirname(path);
  // Only a directory that this creates becomes private; an existing one keeps its mode.
  const created = await mkdir(directory, { recursive: true, mode: PRIVATE_DIRECTORY });
  if (created !== undefined) await chmod(directory, PRIVATE_DIRECTORY);
  await writePrivate(path, configText(config));
}

/** Files are stored with their whole path, so that a context works in every directory. */
function fieldsOf({ server, store, tokenFile, ca, cert, key }: ContextFlags): Context {
  const fields: Record<ContextField, string | undefined> = {
    server: server
      ?.split(",")
      .map((each) => withScheme(each.trim(), "http"))
      .join(","),
    store,
    token_file: tokenFile === undefined ? undefined : resolve(tokenFile),
    ca: ca === undefined ? undefined : resolve(ca),
    cert: cert === undefined ? undefined : resolve(cert),
    key: key === undefined ? undefined : resolve(key),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function shapeOf(config: ConfigFile): unknown {
  return JSON.parse(configText(config));
}
