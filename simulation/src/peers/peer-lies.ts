/** Valid messages that no correct server sends, with terms, leases and electorates that are not the result of an election. */
import type { Random } from "@tenure/core/testing";
import type { Configuration, PeerState } from "@tenure/peers/protocol";
import type { PeerLife } from "./sim-peer.js";

/** A server with a certificate that is in no electorate. */
export const STRANGER = "zz";
/** More elections than any schedule has. */
export const ABSURD_TERM: number = 2 ** 40;
const A_DAY_MS = 86_400_000;

/** One request to this server, by a member or by a stranger. */
export function askAbsurdly(
  random: Random,
  { answers, services }: PeerLife,
  liar: string,
  ttlMs: number,
  onTaken: (what: string) => void,
): void {
  const { config, term } = answers.state();
  if (config === null) return;
  const { cluster, epoch } = config;
  const by = random.chance(0.5) ? STRANGER : liar;
  const high = random.pick([Number.MAX_SAFE_INTEGER, ABSURD_TERM]);
  const acquire = { candidateId: by, candidateEndpoint: by, term: term + 1, ttlMs, cluster, epoch };
  const renew = { leaderId: by, leaderEndpoint: by, term: term + 1, ttlMs, config };
  /** Throws where it is refused. */
  const coordinate = async (caller: string, ofCluster: string, ofTerm: number): Promise<void> => {
    if (services === null) return;
    services.obey(caller, ofCluster, ofTerm);
    onTaken(`the office of ${caller} as coordinator of term ${ofTerm} in the cluster ${ofCluster}`);
  };
  const lies: readonly (() => Promise<unknown>)[] = [
    () => answers.acquire({ ...acquire, term: high }),
    () => answers.acquire({ ...acquire, ttlMs: A_DAY_MS }),
    () => answers.acquire({ ...acquire, candidateId: STRANGER, candidateEndpoint: STRANGER }),
    () => answers.acquire({ ...acquire, epoch: { term: high, n: 0 } }),
    () => answers.renew({ ...renew, term: high }),
    () => answers.renew({ ...renew, ttlMs: A_DAY_MS }),
    () => answers.renew({ ...renew, config: absurdElectorate(config, high) }),
    () => answers.renew({ ...renew, leaderId: STRANGER, leaderEndpoint: STRANGER }),
    () => coordinate(liar, cluster, high),
    () => coordinate(liar, "another", term),
    () => coordinate(STRANGER, cluster, random.pick([0, term])),
    async () => {
      const version = { n: Number.MAX_SAFE_INTEGER, by: liar };
      await services?.registry.merge([{ backendHash: "lie", endpoint: liar, isRegistered: true, version }]);
      if (services?.registry.entry("lie", liar)?.version.n === version.n) onTaken("an absurd version");
    },
  ];
  void random
    .pick(lies)()
    .catch(() => {});
}

/** What a server that lies shows instead of its state. */
export function lieAbout(kind: "term" | "electorate" | "lease", state: PeerState): PeerState {
  const { config } = state;
  switch (kind) {
    case "term":
      return { ...state, term: Number.MAX_SAFE_INTEGER };
    case "electorate":
      return config === null ? state : { ...state, config: absurdElectorate(config, ABSURD_TERM) };
    case "lease":
      return {
        ...state,
        lease: {
          leaderId: STRANGER,
          leaderEndpoint: STRANGER,
          term: state.term,
          leftMs: A_DAY_MS,
          led: false,
        },
      };
  }
}

function absurdElectorate({ cluster }: Configuration, term: number): Configuration {
  return { cluster, epoch: { term, n: 0 }, members: { [STRANGER]: { endpoint: STRANGER, disk: STRANGER } } };
}
