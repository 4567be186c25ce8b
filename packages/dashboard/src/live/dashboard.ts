/** Everything the page knows, and what keeps it up to date. Whoever draws subscribes, and is told at most once a frame. */
import { GroupBoard } from "../model/group-board.js";
import { ServerClock } from "../model/server-clock.js";
import type { Target } from "../model/act.js";
import type { LeadershipEvent, ServerInfo, Whoami } from "../model/wire.js";
import { Api } from "./api.js";
import { Attention } from "./attention.js";
import { type FeedStatus, LiveFeed } from "./live-feed.js";
import { Refresher } from "./refresher.js";
import { Sampler } from "./sampler.js";
import { Session } from "./session.js";

const REFRESH_MS = 1000;
const SAMPLE_MS = 5000;

export class Dashboard {
  readonly session: Session = new Session(sessionStorage);
  readonly clock: ServerClock = new ServerClock();
  readonly api: Api = new Api(this.session, this.clock);
  readonly board: GroupBoard = new GroupBoard();
  readonly sampler: Sampler = new Sampler(this.api);
  readonly attention: Attention = new Attention(this.api);
  readonly refresher: Refresher = new Refresher({
    api: this.api,
    board: this.board,
    serverMs: () => this.serverMs(),
    changed: () => this.#changed(),
  });
  status: FeedStatus = { kind: "connecting" };
  /** Whom the service takes the reader for; `null` until it has said so. */
  reader: Whoami | null = null;
  /** Of the server that was asked; `null` until it has answered. */
  server: ServerInfo | null = null;
  /** All groups have been read at least once. */
  isLoaded = false;
  readonly #listeners = new Set<() => void>();
  readonly #eventListeners = new Set<(event: LeadershipEvent) => void>();
  #feed: LiveFeed | null = null;
  #isScheduled = false;

  constructor() {
    this.api.onDoubt = () => this.#feed?.suspect();
  }

  serverMs(): number {
    return this.clock.at(Date.now());
  }

  /** The time to show things at: while the server is lost it stands still, as they do. */
  shownMs(): number {
    return this.status.kind === "lost" ? this.clock.at(this.status.sinceMs) : this.serverMs();
  }

  /** For commands that a reader copies. */
  target(): Target {
    const needsToken = this.session.token !== null || this.server?.auth === "required";
    return { origin: location.origin, needsToken };
  }

  docsUrl(): string {
    return this.server?.docs_url ?? "/docs";
  }

  /** For the life of the page. */
  start(): void {
    this.#connect();
    void repeat(
      () => REFRESH_MS,
      () => this.#refresh(),
    );
    void repeat(
      () => SAMPLE_MS,
      () => this.#sample(),
    );
    addEventListener("offline", () => this.#feed?.suspect());
    addEventListener("pagehide", () => this.#feed?.stop());
  }

  signIn(token: string): void {
    this.session.signIn(token);
    this.reader = null;
    this.#connect();
  }

  /** What was seen with the token goes with it: all that this page knows. */
  signOut(): void {
    this.session.signOut();
    location.reload();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onEvent(listener: (event: LeadershipEvent) => void): () => void {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  }

  #connect(): void {
    this.#feed?.stop();
    this.status = { kind: "connecting" };
    const feed: LiveFeed = new LiveFeed({
      api: this.api,
      onEvents: (events) => this.#take(events),
      onStatus: (status) => {
        if (this.#feed !== feed) return;
        this.status = status;
        this.#changed();
        if (status.kind === "live") void Promise.all([this.#meet(), this.#load(), this.#sample()]);
      },
      nowMs: Date.now,
      sleep,
      random: Math.random,
    });
    this.#feed = feed;
    void feed.run();
    this.#changed();
  }

  #take(events: readonly LeadershipEvent[]): void {
    for (const event of events) {
      this.board.applyEvent(event);
      for (const listener of this.#eventListeners) listener(event);
    }
    this.#changed();
  }

  /** At each connection anew: the server may be another one, or have other credentials set up. */
  async #meet(): Promise<void> {
    try {
      this.reader = await this.api.get<Whoami>("/v1/whoami");
      this.#changed();
      this.server = await this.api.get<ServerInfo>("/v1/server").catch(() => null);
    } catch {
      // The next refresh tries again; until then no act is offered.
      this.reader = null;
    }
  }

  async #load(): Promise<void> {
    try {
      await this.refresher.load();
      this.isLoaded = true;
      this.#changed();
    } catch {
      // The next refresh, or the next connection, tries again.
    }
  }

  async #sample(): Promise<void> {
    if (this.status.kind === "live") {
      await Promise.all([this.sampler.sample(), this.attention.read()]);
      this.board.applyTroubles(this.attention.troubles());
    } else if (this.status.kind === "lost") this.sampler.miss();
    this.#changed();
  }

  async #refresh(): Promise<void> {
    if (this.status.kind !== "live") return;
    if (this.reader === null) await this.#meet();
    if (!this.isLoaded) return this.#load();
    if (document.visibilityState === "visible") await this.refresher.refresh();
  }

  #changed(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => {
      this.#isScheduled = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

/** One after the other, never two at once; a failure costs one turn. */
async function repeat(everyMs: (turn: number) => number, work: () => Promise<void>): Promise<never> {
  for (let turn = 0; ; turn++) {
    const startedMs = performance.now();
    await work().catch(() => {});
    await sleep(Math.max(0, everyMs(turn) - (performance.now() - startedMs)));
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
