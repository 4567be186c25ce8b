/** `tenure watch --store` over an engine that goes away and comes back. */
import { isMissing, startEtcd } from "@tenure/engines";
import { expect, it } from "vitest";
import { command } from "../frame/command.test-kit.js";
import { until } from "./until.test-kit.js";

const BACK_WITHIN_MS = 30_000;

it.skipIf(isMissing("etcd"))(
  "a watch of a store resumes where it broke off, without a gap or a repetition",
  async () => {
    await using engine = await startEtcd();
    const store = ["--store", engine.url];
    const [node] = engine.nodes;
    const user = new AbortController();
    let seen = "";
    const watching = command(["watch", "g", "--json", ...store], {
      signal: user.signal,
      onOutput: (stdout) => (seen = stdout),
    });
    const cursors = (): number[] =>
      seen
        .trimEnd()
        .split("\n")
        .filter(Boolean)
        .map((line) => Number((JSON.parse(line) as { cursor: string }).cursor));
    const saw = (cursor: number): Promise<void> =>
      until(BACK_WITHIN_MS, `event ${cursor}`, () => Promise.resolve(cursors().includes(cursor)));
    const turn = async (term: number): Promise<void> => {
      const won = async (): Promise<boolean> =>
        (await command(["campaign", "g", "--node-id", "a", ...store])).code === 0;
      await until(BACK_WITHIN_MS, `term ${term}`, won);
      const claim = ["g", "--node-id", "a", "--term", String(term)];
      await until(
        BACK_WITHIN_MS,
        "its end",
        async () => (await command(["resign", ...claim, ...store])).code === 0,
      );
    };
    await until(BACK_WITHIN_MS, "the first state", () => Promise.resolve(seen !== ""));
    await turn(1);
    await saw(2);
    await node?.kill();
    expect((await command(["leader", "g", ...store])).code).toBe(4);
    await node?.start();
    await turn(2);
    await saw(4);
    user.abort(new Error("enough"));
    expect((await watching).code).toBe(0);
    expect(cursors()).toEqual([0, 1, 2, 3, 4]);
    expect(seen).not.toContain("RESYNC");
  },
);
