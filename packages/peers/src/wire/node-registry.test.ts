import { afterEach, expect, it } from "vitest";
import { named, TestNode, TTL_MS } from "./node.test-kit.js";

let test: TestNode;
afterEach(() => test.stop());

interface Backend {
  readonly backend_hash: string;
  readonly endpoints: readonly string[];
}

const backends = async (): Promise<readonly Backend[]> =>
  (await test.ask("GET", "/v1/tc/rm/list")).body["backends"] as readonly Backend[];

it("a server unregisters the endpoint that it had before it moved, and leaves other backends unchanged", async () => {
  test = await TestNode.leading();
  while ((await backends()).length === 0) await test.clock.advance(TTL_MS);
  const [own] = (await backends()) as [Backend];
  const { endpoint } = TestNode.options;
  expect(own.endpoints).toEqual([endpoint]);
  const register = async (hash: string, at: string): Promise<void> => {
    const body = { backend_hash: hash, endpoint: at };
    const { status } = await test.ask("POST", "/v1/tc/rm/register", { as: named("server/n1"), body });
    expect(status).toBe(200);
  };
  await register(own.backend_hash, "http://127.0.0.1:8");
  await register("ff", "http://127.0.0.1:7");
  await test.clock.advance(4 * TTL_MS);
  const after = new Map((await backends()).map((each) => [each.backend_hash, each.endpoints]));
  expect(after.get(own.backend_hash)).toEqual([endpoint]);
  expect(after.get("ff")).toEqual(["http://127.0.0.1:7"]);
});
