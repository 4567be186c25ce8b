/**
 * The transport as the protocol uses it: an answer that no correct peer gives counts as no answer. Terms and epochs in
 * answers are adopted and never fall again, so one absurd answer would stop this peer for good.
 */
import { InvalidRequestError } from "@tenure/core";
import type { PeerState, PeerTransport } from "./messages.js";
import { MAX_TERM_JUMP } from "./voting.js";

export interface TransportChecks {
  /** The highest term that this peer has granted. */
  readonly term: () => number;
  /** Called with each state that another peer shows, whatever its cluster. */
  readonly onAnswer: (state: PeerState) => void;
}

export function checkedTransport(
  transport: PeerTransport,
  { term, onAnswer }: TransportChecks,
): PeerTransport {
  const check = (state: PeerState): void => {
    const shown = Math.max(state.term, state.lease?.term ?? 0, state.config?.epoch.term ?? 0);
    if (shown <= term() + MAX_TERM_JUMP) return onAnswer(state);
    throw new InvalidRequestError(
      "peer.term",
      `of ${state.identity} is ${shown}, more than ${MAX_TERM_JUMP} above every term granted here`,
    );
  };
  const checked = async <T extends { readonly state: PeerState }>(answer: Promise<T>): Promise<T> => {
    const { state } = await answer;
    check(state);
    return answer;
  };
  return {
    acquire: (to, request, options) => checked(transport.acquire(to, request, options)),
    renew: (to, request, options) => checked(transport.renew(to, request, options)),
    release: (to, request, options) => checked(transport.release(to, request, options)),
    state: async (to, options) => {
      const state = await transport.state(to, options);
      check(state);
      return state;
    },
  };
}
