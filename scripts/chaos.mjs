/**
 * `npm run chaos`: the tests that kill, stop, cut off and attack real processes, as often as it takes to believe them, and with the
 * bounds of time that hold on a quiet machine; `npm test` does a part of it. Arguments choose among them (`npm run chaos -- run`,
 * `npm run chaos -- hostile`).
 */
import { main, run, runTool, ScriptError, setUp } from "./setup.mjs";

const COMMAND_TESTS = [
  "failover.test.ts",
  "roles.test.ts",
  "elections/",
  "run/",
  "coordinator/",
  "frozen-server/",
  "peers/",
  "hostile/",
  "incident/",
  "deploy/image.test.ts",
  "engines/",
  "stopping.test.ts",
].map((path) => `packages/cli/src/${path}`);
const TESTS = [
  ...COMMAND_TESTS,
  "packages/dashboard/src/load.test.ts",
  "packages/stores/src/embedded/crash.test.ts",
  "packages/stores/src/etcd/",
  "packages/stores/src/nats/",
  "packages/stores/src/postgres/",
  "packages/stores/src/zookeeper/",
  "packages/server/src/http/closing.test.ts",
  "packages/server/src/http/errors.test.ts",
  "packages/server/src/http/http-elector-failover.test.ts",
];

await main(async () => {
  await setUp();
  const env = { TENURE_CHAOS: "1" };
  const code = await run(process.execPath, ["scripts/engines/dist/main.js"], { env });
  if (code !== 0) throw new ScriptError("The engines that tests need are not there, see above.", code);
  const wanted = process.argv.slice(2);
  const tests = wanted.length === 0 ? TESTS : wanted;
  return runTool("vitest", ["run", "--testTimeout=1800000", ...tests], { env });
});
