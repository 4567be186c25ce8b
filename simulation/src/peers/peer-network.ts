/**
 * Between peers: messages are late, lost, doubled and overtaken, links are cut one way or both, connections can be opened in
 * one direction only, processes are not there.
 */
import type { ProcessClock, Random, VirtualClock } from "@tenure/core/testing";
import type { CallOptions } from "@tenure/core";
import type { PeerAnswers, PeerState, PeerTransport } from "@tenure/peers/protocol";
import type { Services } from "./services.js";

export interface NetworkFaults {
  lossRate: number;
  /** Rather slow: 15 ms up to this. */
  slowRate: number;
  slowMs: number;
  /** The share of messages that arrive after every caller has given up. */
  lateRate: number;
  lateMs: number;
  duplicateRate: number;
}

export function noNetworkFaults(): NetworkFaults {
  return { lossRate: 0, slowRate: 0, slowMs: 400, lateRate: 0, lateMs: 1500, duplicateRate: 0 };
}

/** Who answers at an endpoint just now. */
export interface Station {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly answers: PeerAnswers;
  readonly disk: string;
  /** `null` of a puppet. */
  readonly services: Services | null;
}

interface Call<T> {
  readonly from: { readonly name: string; readonly clock: ProcessClock };
  readonly verb: string;
  readonly endpoint: string;
  readonly run: (station: Station) => Promise<T>;
  /** Looks at an answer before it leaves; may distort it. */
  readonly shown: (answer: T, station: Station) => T;
}

export class PeerNetwork {
  faults: NetworkFaults = noNetworkFaults();
  /** What was late arrives before this true time. */
  lastArrivalMs: number = Number.POSITIVE_INFINITY;
  /** A scripted schedule says how long each request travels; `undefined` leaves it to chance. */
  travelMs: ((from: string, endpoint: string, verb: string) => number | undefined) | null = null;
  /** The same for each answer. */
  answerMs: ((from: string) => number | undefined) | null = null;
  /** `a>b`: nothing gets from a to b. */
  readonly cuts: Set<string> = new Set();
  /** `a>b`: a cannot connect to b. Answers to what b asks of a still flow. */
  readonly oneWay: Set<string> = new Set();
  /** What a server that lies shows instead of its state. */
  distort: (name: string, state: PeerState) => PeerState = (_, state) => state;
  /** Whether a caller gets an error at once when a link is cut, or gets no answer. */
  cutsRefuse = false;
  readonly #time: VirtualClock;
  readonly #random: Random;
  readonly #find: (endpoint: string) => Station | null;
  readonly #onAnswer: (state: PeerState, call: string, answer: object) => void;
  readonly #afterDelivery: () => void;

  constructor(options: {
    readonly time: VirtualClock;
    readonly random: Random;
    readonly find: (endpoint: string) => Station | null;
    /** Each state that is shown, when it is. */
    readonly onAnswer: (state: PeerState, call: string, answer: object) => void;
    readonly afterDelivery: () => void;
  }) {
    this.#time = options.time;
    this.#random = options.random;
    this.#find = options.find;
    this.#onAnswer = options.onAnswer;
    this.#afterDelivery = options.afterDelivery;
  }

  transport(from: { readonly name: string; readonly clock: ProcessClock }): PeerTransport {
    const call = <T extends { readonly state: PeerState }>(
      verb: string,
      endpoint: string,
      options: CallOptions | undefined,
      run: (answers: PeerAnswers) => Promise<T>,
    ): Promise<T> => {
      const shown = (answer: T, { name }: Station): T => {
        this.#onAnswer(answer.state, `${from.name}>${name} ${verb}`, answer);
        return { ...answer, state: this.distort(name, answer.state) };
      };
      const at = (station: Station): Promise<T> => run(station.answers);
      return this.#call({ from, verb, endpoint, run: at, shown }, options?.signal);
    };
    return {
      acquire: (to, request, options) => call("acquire", to, options, (peer) => peer.acquire(request)),
      renew: (to, request, options) => call("renew", to, options, (peer) => peer.renew(request)),
      release: (to, request, options) => call("release", to, options, (peer) => peer.release(request)),
      state: async (to, options) =>
        (await call("state", to, options, async (peer) => ({ state: peer.state() }))).state,
    };
  }

  /** Any other call between two servers. Rejects where the one that is asked refuses. */
  call<T>(
    from: { readonly name: string; readonly clock: ProcessClock },
    endpoint: string,
    verb: string,
    run: (station: Station) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#call({ from, verb, endpoint, run, shown: (answer) => answer }, signal);
  }

  #call<T>({ from, verb, endpoint, run, shown }: Call<T>, signal: AbortSignal | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      const back = (name: string, settle: () => void): void => {
        if (this.#random.chance(this.faults.lossRate)) return;
        this.#time.after(this.answerMs?.(name) ?? this.#delay(false), () => {
          if (this.#isCut(name, from.name)) return;
          from.clock.pass(() => {
            settle();
            queueMicrotask(this.#afterDelivery);
          });
        });
      };
      const arrive = (isDuplicate: boolean): void => {
        const station = this.#find(endpoint);
        const isCut = station !== null && this.#isClosed(from.name, station.name);
        if (station === null || (isCut && this.cutsRefuse)) {
          return back("", () => reject(new Error("connection refused")));
        }
        if (isCut) return;
        station.clock.pass(() => {
          void run(station).then(
            (answer) => {
              if (station.clock.isKilled) return;
              const given = shown(answer, station);
              if (!isDuplicate) back(station.name, () => resolve(given));
            },
            (error: unknown) => {
              if (!isDuplicate) back(station.name, () => reject(error));
            },
          );
        });
      };
      const { lossRate, lateRate, duplicateRate } = this.faults;
      const scriptedMs = this.travelMs?.(from.name, endpoint, verb);
      if (scriptedMs !== undefined) this.#time.after(scriptedMs, () => arrive(false));
      else if (!this.#random.chance(lossRate)) {
        this.#time.after(this.#delay(this.#random.chance(lateRate)), () => arrive(false));
      }
      if (this.#random.chance(duplicateRate)) this.#time.after(this.#delay(true), () => arrive(true));
    });
  }

  /** Whether a request gets from one to the other. */
  #isClosed(from: string, to: string): boolean {
    return this.#isCut(from, to) || (this.oneWay.size > 0 && this.oneWay.has(`${from}>${to}`));
  }

  #isCut(from: string, to: string): boolean {
    return this.cuts.size > 0 && this.cuts.has(`${from}>${to}`);
  }

  #delay(isLate: boolean): number {
    const { slowRate, slowMs, lateMs } = this.faults;
    const delayMs = isLate
      ? this.#random.between(0, lateMs)
      : this.#random.chance(slowRate)
        ? this.#random.between(15, slowMs)
        : this.#random.between(0.5, 10);
    return Math.min(delayMs, Math.max(10, this.lastArrivalMs - this.#time.monotonicMs()));
  }
}
