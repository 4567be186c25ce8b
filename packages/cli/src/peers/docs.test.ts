/**
 * docs/PEERS.md and the README of the package, followed to the letter: their blocks are run by a shell on three machines of
 * their own (network namespaces, each with its own names, files and /var/lib), with nothing but `tenure` added to the path.
 */
import { spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { isMissing, TestNetwork } from "@tenure/engines";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { comesTrue, until } from "../engines/until.test-kit.js";
import { Scratch } from "../scratch.test-kit.js";

const COMMAND = fileURLToPath(new URL("../../bin/tenure.js", import.meta.url));
const NODES = ["node-1", "node-2", "node-3"];

function blocksOf(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../../../${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/```\w*\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
}

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

describe.skipIf(isMissing("ip"))("the documentation of the peers", () => {
  const scratch = new Scratch();
  const directory = scratch.directory();
  const stop: (() => void)[] = [];
  let network: TestNetwork;
  beforeAll(() => {
    network = new TestNetwork(NODES);
    mkdirSync(join(directory, "bin"));
    const wrapper = join(directory, "bin", "tenure");
    writeFileSync(wrapper, `#!/bin/sh\nexec "${process.execPath}" "${COMMAND}" "$@"\n`);
    chmodSync(wrapper, 0o755);
    const names = NODES.map((name) => `${network.host(name)} ${name}\n`);
    writeFileSync(join(directory, "hosts"), `127.0.0.1 localhost\n${names.join("")}`);
    for (const name of [...NODES, "alone"]) mkdirSync(join(directory, name));
  });
  afterAll(async () => {
    for (const each of stop) each();
    network?.close();
    await scratch.close();
  });

  /** A block of the page, run on that machine in a folder; ends with the first line that fails. */
  function start(
    machine: string,
    block: string,
    folder = machine,
  ): { readonly ended: Promise<Ran>; readonly end: () => void } {
    const here = join(directory, folder);
    const setUp = [
      `mount --bind ${directory}/hosts /etc/hosts`,
      "mount -t tmpfs tmpfs /var/lib",
      `cd ${here}`,
      `export PATH=${directory}/bin:$PATH`,
      `exec sh -ec "$1"`,
    ].join(" && ");
    const [program = "", ...inside] = network.inside(machine);
    const args = [...inside, "unshare", "--mount", "sh", "-c", setUp, "sh", block];
    // A process group of its own: the shell does not pass a signal on to its commands.
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
    const end = (): void => {
      const isRunning = child.exitCode === null && child.signalCode === null;
      if (isRunning && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    };
    stop.push(end);
    const output = Promise.all([text(child.stdout), text(child.stderr)]);
    const ended = new Promise<Ran>((resolve) => {
      child.once("close", (code) => {
        void output.then(([out, err]) => resolve({ code, output: out + err }));
      });
    });
    return { ended, end };
  }

  const carry = (from: string, to: string, ...files: readonly string[]): void => {
    for (const file of files) copyFileSync(join(directory, from, file), join(directory, to, file));
  };

  it("the README of the package starts a server that leads, and shows it", async () => {
    const [serve = "", look = "", ...more] = blocksOf("packages/peers/README.md");
    expect(more).toEqual([]);
    const server = start("node-1", serve, "alone");
    let served: Ran | null = null;
    void server.ended.then((ran) => (served = ran));
    let looked: Ran = { code: null, output: "" };
    const isShown = await comesTrue(60_000, async () => {
      // A block that ends has failed, and reports why.
      expect(served).toBeNull();
      looked = await start("node-1", look, "alone").ended;
      return looked.code === 0 && looked.output.includes("no problems");
    });
    expect(isShown, looked.output).toBe(true);
    expect(looked.output).toMatch(/^coordinator {2}node-1 \(/m);
    server.end();
    await server.ended;
  });

  it("docs/PEERS.md starts a cluster of three, shows it, decides, and removes a server for good", async () => {
    const [issue = "", serve = "", look = "", takeOut = "", ...more] = blocksOf("docs/PEERS.md");
    expect(more).toEqual([]);
    expect(await start("node-1", issue).ended).toMatchObject({ code: 0 });
    for (const name of ["node-2", "node-3"]) carry("node-1", name, `${name}.pem`, "crl.pem");
    for (const name of NODES) start(name, serve.replace("NODE=node-1", `NODE=${name}`));
    let looked: Ran = { code: null, output: "" };
    await until(90_000, "the page's look at the cluster succeeds", async () => {
      looked = await start("node-1", look).ended;
      return looked.code === 0 && looked.output.includes("no problems");
    });
    expect(looked.output).toMatch(/^coordinator {2}node-[123] \(/m);
    for (const name of NODES) expect(looked.output).toContain(`https://${name}:7420`);
    expect(looked.output).toMatch(/^order-17: commit, term \d+/m);

    // A server that was just added may still be busy; a refused leave changes nothing.
    let left: Ran = { code: null, output: "" };
    await until(60_000, "the page's way out succeeds", async () => {
      left = await start("node-1", takeOut).ended;
      return left.code === 0;
    });
    expect(left.output).toContain("the server left the cluster");
    carry("node-1", "node-2", "crl.pem");
    await until(60_000, "it is out of the electorate", async () => {
      looked = await start("node-1", look).ended;
      return looked.code === 0 && !looked.output.includes("https://node-3:7420");
    });
  });
});
