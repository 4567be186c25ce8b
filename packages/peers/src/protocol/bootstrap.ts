/**
 * The first start of a node: it takes an existing electorate, founds one, or waits. Pure.
 *
 * Only the founder of its own join list creates, and only when every target has answered, has no electorate and names
 * it as founder. So no two electorates are founded from lists that agree.
 *
 * A founder that has lost its disk must not found a second cluster beside the first. The members of the first announce
 * themselves to all their electors every ttl. So a founder first waits slightly longer than that, and asks every server
 * that announced itself meanwhile.
 */
import { compareEpochs, isMember } from "./configuration.js";
import type { Configuration, PeerState } from "./messages.js";

export type BootstrapDecision =
  | { readonly kind: "take"; readonly config: Configuration }
  | { readonly kind: "found"; readonly config: Configuration }
  /** `for`: the endpoints that must answer first; `why` explains it to people. */
  | { readonly kind: "wait"; readonly for: readonly string[]; readonly why: string };

/** The founder of a join list: its smallest endpoint. */
export function founderOf(join: readonly string[]): string | null {
  return join.toSorted()[0] ?? null;
}

/** How long a founder listens for announcements of an older cluster before it founds one, in ttls. */
export const BOOTSTRAP_WAIT = 1.2;

/**
 * `answers` are keyed by the endpoint that was asked, including this node's own if it is in the list. Active members
 * are among them: an electorate is taken from any of them, but only join targets found one together. `hasListened`: for
 * `BOOTSTRAP_WAIT`.
 */
export function decideBootstrap(
  own: PeerState,
  join: readonly string[],
  answers: ReadonlyMap<string, PeerState>,
  hasListened: boolean,
): BootstrapDecision {
  const known = [...answers.values()].flatMap(({ config }) => (config === null ? [] : [config]));
  if (known.length > 0) return { kind: "take", config: choose(known, own) };
  const states = join.flatMap((endpoint) => answers.get(endpoint) ?? []);
  const founder = founderOf(join);
  if (founder === null) return wait([], "it has no join targets");
  if (founder !== own.endpoint) return wait([founder], `${founder} founds the cluster`);
  const silent = join.filter((endpoint) => !answers.has(endpoint));
  if (silent.length > 0) return wait(silent, "every join target must answer before the cluster is founded");
  const strangers = states.filter((state) => state.founder !== own.endpoint);
  if (strangers.length > 0) {
    const named = strangers.map((state) => `${state.endpoint} names ${state.founder ?? "none"}`).join(", ");
    return wait(
      strangers.map((state) => state.endpoint),
      `all join lists must have the same smallest endpoint: ${named}`,
    );
  }
  const twins = states.filter((state) =>
    states.some((each) => each !== state && each.identity === state.identity),
  );
  if (twins.length > 0) {
    const shown = twins.map(({ endpoint }) => endpoint).toSorted();
    return wait(
      shown,
      `${shown.join(" and ")} are both ${twins[0]?.identity}: each server needs a bundle of its own`,
    );
  }
  if (!hasListened) {
    return wait([], "a cluster is founded once no member of an older one has announced itself for a lease");
  }
  const members = Object.fromEntries(
    states.map(({ identity, endpoint, disk }) => [identity, { endpoint, disk }]),
  );
  return { kind: "found", config: { cluster: own.disk, epoch: { term: 0, n: 0 }, members } };
}

/** The electorate that this node is a member of, if there is one; of several the newest. */
function choose(known: readonly Configuration[], own: PeerState): Configuration {
  const mine = known.filter((config) => isMember(config, own.identity, own.disk));
  const [first, ...rest] = mine.length > 0 ? mine : known;
  return rest.reduce(
    (best, config) => (compareEpochs(config.epoch, best.epoch) > 0 ? config : best),
    first as Configuration,
  );
}

function wait(endpoints: readonly string[], why: string): BootstrapDecision {
  return { kind: "wait", for: endpoints, why };
}
