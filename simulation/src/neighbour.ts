import { sleep } from "@tenure/core";
import type { Random } from "@tenure/core/testing";
import { type Environment, isExpected } from "./environment.js";

const PERIOD_MS = 300;
const TIMEOUT_MS = 1000;

/** Holds a separate group with a very short lease, for which it campaigns again and again. It affects no other client. */
export async function holdForEver(
  environment: Environment,
  groupId: string,
  ttlMs: number,
  random: Random,
): Promise<never> {
  const { time, network, servers, checks } = environment;
  const from = time.process();
  const request = { groupId, nodeId: "neighbour", instanceId: "neighbour.1", ttlMs };
  for (;;) {
    await sleep(time, random.between(0.5 * PERIOD_MS, PERIOD_MS));
    const call = network.call({
      from,
      server: random.pick(servers),
      timeoutMs: TIMEOUT_MS,
      campaign: request,
      run: (elector, options) => elector.campaign(request, options),
      onAnswer: (result, arrivedMs, answeredMs) =>
        checks.onAnswer({ verb: "campaign", request, result, arrivedMs, answeredMs }),
      onError: (error) => {
        if (!isExpected(environment, error)) checks.unexpected(error);
      },
    });
    call.catch(() => {});
  }
}
