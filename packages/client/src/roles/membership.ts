/**
 * Who shares the roles. Each process leads one of a fixed number of groups, its seat, and says there how much it takes; who
 * leads a seat takes part. So this needs nothing but the elector itself, a member is gone exactly when its roles are, and its
 * seat is renewed in the same batch as they.
 */
import { type Elector, isObject, type Metadata, sleep } from "@tenure/core";
import { callWithin } from "../election/call-within.js";
import { Election } from "../election/election.js";
import { Backoff } from "../election/retry.js";
import { hash } from "./affinity.js";
import type { Board } from "./board.js";
import type { ParsedManager, ParsedSpread } from "./options.js";
import type { RoleMember } from "./state.js";

export interface MembershipParts {
  readonly elector: Elector;
  readonly board: Board;
  readonly options: ParsedManager;
  readonly spread: ParsedSpread;
  readonly changed: () => void;
}

export class Membership {
  readonly #parts: MembershipParts;
  readonly #self: RoleMember;
  /** Others, by seat. */
  readonly #others = new Map<string, RoleMember>();
  readonly #stopping = new AbortController();
  #sitting = new AbortController();
  #seat: Election | null = null;
  #members: readonly RoleMember[] = [];
  #running: Promise<void> = Promise.resolve();

  constructor(parts: MembershipParts) {
    const { election, mostRoles } = parts.options;
    this.#parts = parts;
    this.#self = { nodeId: election.nodeId, weight: parts.spread.weight, mostRoles };
  }

  /** In order of their ids. */
  get members(): readonly RoleMember[] {
    return this.#members;
  }

  get isSeated(): boolean {
    return this.#seat?.isLeader() === true;
  }

  /** All seats are taken by others. */
  get isFull(): boolean {
    return this.#vacancies().length === 0;
  }

  /** Takes a seat; also again after `leave`. */
  start(): void {
    const { signal } = (this.#sitting = new AbortController());
    this.#running = this.#running.then(() => this.#sit(signal));
  }

  /** Gives the seat up at once, so that the others know that they have to take over; goes on to see who the others are. */
  async leave(): Promise<void> {
    this.#sitting.abort();
    await this.#seat?.stop();
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.leave();
  }

  /** A seat has another leader, or none. */
  seatChanged(seat: string): void {
    const known = this.#parts.board.known(seat);
    if (known === null || known.nodeId === null) this.#set(seat, null);
    else if (known.nodeId !== this.#self.nodeId) void this.#look(seat, known.term);
  }

  async #look(seat: string, term: number): Promise<void> {
    const { elector, board, options } = this.#parts;
    const { clock, connectionTimeoutMs, retry, random } = options.election;
    const backoff = new Backoff(retry, random);
    const { signal } = this.#stopping;
    while (!signal.aborted && board.known(seat)?.term === term) {
      try {
        const { leader } = await callWithin(clock, connectionTimeoutMs, signal, (limit) =>
          elector.leader(seat, { signal: limit }),
        );
        if (leader?.term === term) this.#set(seat, memberOf(leader.nodeId, leader.metadata));
        return;
      } catch (error) {
        await sleep(clock, backoff.next(error), signal).catch(() => {});
      }
    }
  }

  #set(seat: string, member: RoleMember | null): void {
    if (member === null) this.#others.delete(seat);
    else this.#others.set(seat, member);
    this.#tell();
  }

  #tell(): void {
    const all = [...this.#others.values(), ...(this.isSeated ? [this.#self] : [])];
    const byId = new Map(all.map((each) => [each.nodeId, each]));
    const members = [...byId.values()].toSorted((one, other) => (one.nodeId < other.nodeId ? -1 : 1));
    if (JSON.stringify(members) === JSON.stringify(this.#members)) return;
    this.#members = members;
    this.#parts.changed();
  }

  async #sit(signal: AbortSignal): Promise<void> {
    const { options, board, spread } = this.#parts;
    const { clock, retry, random } = options.election;
    const backoff = new Backoff(retry, random);
    const first = spread.seats[0] ?? "";
    try {
      for (;;) {
        const [seat] = this.#vacancies();
        if (seat === undefined) {
          // Any of them may become vacant; to look again once in a while is enough for one that is not needed.
          await board.watch(first).changed(options.election.ttlMs, signal);
        } else if (await this.#lead(seat, signal)) {
          backoff.reset();
        } else {
          await sleep(clock, backoff.next(), signal);
        }
      }
    } catch {
      // It was left or stopped.
    }
  }

  /** Each begins somewhere else, so that they do not all want the same. */
  #vacancies(): readonly string[] {
    const { board, spread } = this.#parts;
    const { seats } = spread;
    const start = hash(this.#self.nodeId) % seats.length;
    return [...seats.slice(start), ...seats.slice(0, start)].filter((seat) => board.isVacant(seat));
  }

  /** Until it is lost; false if it was not won. */
  async #lead(seat: string, signal: AbortSignal): Promise<boolean> {
    const { elector, options } = this.#parts;
    const { weight, mostRoles } = this.#self;
    const metadata: Metadata = { weight, most_roles: mostRoles };
    const election = new Election(elector, { ...options.shared, groupId: seat, metadata, campaignWaitMs: 0 });
    const lost = new Promise<void>((resolve) => {
      election.onDemote(() => {
        resolve();
        void election.stop();
      });
    });
    this.#seat = election;
    await election.start().catch(() => {});
    const isWon = election.isLeader();
    this.#tell();
    if (isWon && !signal.aborted) await lost;
    await election.stop();
    this.#seat = null;
    this.#tell();
    signal.throwIfAborted();
    return isWon;
  }
}

function memberOf(nodeId: string, metadata: Metadata | undefined): RoleMember {
  const { weight, most_roles: mostRoles } = isObject(metadata) ? metadata : {};
  return {
    nodeId,
    weight: typeof weight === "number" && weight > 0 ? weight : 1,
    mostRoles: typeof mostRoles === "number" ? mostRoles : Number.MAX_SAFE_INTEGER,
  };
}
