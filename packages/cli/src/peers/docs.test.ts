/**
 * docs/PEERS.md and the README of the package, followed to the letter: their blocks are typed into terminals on three machines of
 * their own (network namespaces, each with its own names, files and /var/lib), with nothing but `tenure` added to the path.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMissing, TestNetwork } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blocksIn } from "../docs/blocks.test-kit.js";
import { endAll, Terminal } from "../docs/terminal.test-kit.js";
import { comesTrue, until } from "../engines/until.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";

const COMMAND = fileURLToPath(new URL("../../bin/tenure.js", import.meta.url));
const NODES = ["node-1", "node-2", "node-3"];

function blocksOf(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../../../${page}`, import.meta.url), "utf8");
  return blocksIn(page, text).map(({ code }) => code);
}

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

describe.skipIf(isMissing("ip"))("the documentation of the peers", () => {
  const scratch = new Scratch();
  const directory = scratch.directory();
  const mark = { name: "TENURE_PEERS_PAGE", value: randomUUID() };
  /** Of each machine the terminal in which blocks end. */
  const terminals = new Map<string, Terminal>();
  let network: TestNetwork;
  beforeAll(() => {
    network = new TestNetwork(NODES);
    mkdirSync(join(directory, "bin"));
    const wrapper = join(directory, "bin", "tenure");
    writeFileSync(wrapper, `#!/bin/sh\nexec "${process.execPath}" "${COMMAND}" "$@"\n`);
    chmodSync(wrapper, 0o755);
    const names = NODES.map((name) => `${network.host(name)} ${name}\n`);
    writeFileSync(join(directory, "hosts"), `127.0.0.1 localhost\n${names.join("")}`);
    for (const name of [...NODES, "alone", "blocks"]) mkdirSync(join(directory, name));
  });
  afterAll(async () => {
    await endAll(`${mark.name}=${mark.value}`);
    network?.close();
    await scratch.close();
  });

  /** A new terminal on that machine, in a folder. */
  function open(machine: string, folder = machine): Terminal {
    const setUp = `mount --bind ${directory}/hosts /etc/hosts && mount -t tmpfs tmpfs /var/lib && exec "$@"`;
    return new Terminal({
      folder: join(directory, folder),
      environment: {
        ...(process.env as Record<string, string>),
        PATH: `${directory}/bin:${process.env["PATH"]}`,
        [mark.name]: mark.value,
      },
      blocks: join(directory, "blocks"),
      inside: [...network.inside(machine), "unshare", "--mount", "sh", "-c", setUp, "sh"],
    });
  }

  /** A block of the page that ends. */
  async function run(machine: string, block: string, folder = machine): Promise<Ran> {
    const terminal = terminals.get(folder) ?? open(machine, folder);
    terminals.set(folder, terminal);
    terminal.start(block);
    await terminal.until(() => false, AbortSignal.timeout(60_000));
    return { code: terminal.exitCode, output: terminal.output };
  }

  const carry = (from: string, to: string, ...files: readonly string[]): void => {
    for (const file of files) copyFileSync(join(directory, from, file), join(directory, to, file));
  };

  it("the README of the package starts a server that leads, and shows it", async () => {
    const [serve = "", look = "", ...more] = blocksOf("packages/peers/README.md");
    expect(more).toEqual([]);
    const server = open("node-1", "alone");
    server.start(serve);
    let looked: Ran = { code: null, output: "" };
    const isShown = await comesTrue(60_000, async () => {
      // A server that ends has failed, and reports why.
      expect(server.isIdle, server.output).toBe(false);
      looked = await run("node-1", look, "alone");
      return looked.code === 0 && looked.output.includes("no problems");
    });
    expect(isShown, looked.output).toBe(true);
    expect(looked.output).toMatch(/^coordinator {2}node-1 \(/m);
    await server.interrupt(AbortSignal.timeout(60_000));
    expect(server.isIdle, server.output).toBe(true);
  });

  it("docs/PEERS.md starts a cluster of three, shows it, decides, and removes a server for good", async () => {
    const [issue = "", serve = "", look = "", takeOut = "", ...more] = blocksOf("docs/PEERS.md");
    expect(more).toEqual([]);
    expect(await run("node-1", issue)).toMatchObject({ code: 0 });
    for (const name of ["node-2", "node-3"]) carry("node-1", name, `${name}.pem`, "crl.pem");
    for (const name of NODES) open(name).start(serve.replace("NODE=node-1", `NODE=${name}`));
    let looked: Ran = { code: null, output: "" };
    await until(90_000, "the page's look at the cluster succeeds", async () => {
      looked = await run("node-1", look);
      return looked.code === 0 && looked.output.includes("no problems");
    });
    expect(looked.output).toMatch(/^coordinator {2}node-[123] \(/m);
    for (const name of NODES) expect(looked.output).toContain(`https://${name}:7420`);
    expect(looked.output).toMatch(/^order-17: commit, term \d+/m);

    // A server that was just added may still be busy; a refused leave changes nothing.
    let left: Ran = { code: null, output: "" };
    await until(60_000, "the page's way out succeeds", async () => {
      left = await run("node-1", takeOut);
      return left.code === 0;
    });
    expect(left.output).toContain("the server left the cluster");
    carry("node-1", "node-2", "crl.pem");
    await until(60_000, "it is out of the electorate", async () => {
      looked = await run("node-1", look);
      return looked.code === 0 && !looked.output.includes("https://node-3:7420");
    });
  });
});
