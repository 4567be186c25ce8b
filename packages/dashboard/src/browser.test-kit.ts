/** A real Chromium with a fresh profile. Every page is checked for errors and for requests to other hosts. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser as Chromium, chromium, type Page, type Request } from "playwright-core";

const ARTEFACTS = fileURLToPath(new URL("../artefacts/", import.meta.url));

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const MARK = "the page under test";

const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

const LOOKS = [
  ["wide", WIDE, "light"],
  ["wide", WIDE, "dark"],
  ["phone", PHONE, "light"],
] as const;

/** Beside the sources; it is not compiled. */
export const CHROMIUM: string = fileURLToPath(new URL("../src/steady-chromium.pl", import.meta.url));

export interface LaunchOptions {
  readonly executablePath?: string;
  readonly home?: string;
  /** Switches of Chromium, besides the usual ones. */
  readonly args?: readonly string[];
}

export class Browser {
  readonly #chromium: Chromium;

  private constructor(launched: Chromium) {
    this.#chromium = launched;
  }

  /**
   * Its profile is a new directory, which is removed with it. `home`: where it looks for certificates; otherwise it has
   * none.
   */
  static async launch({ executablePath = CHROMIUM, home, args = [] }: LaunchOptions = {}): Promise<Browser> {
    const env = home === undefined ? {} : { env: { ...process.env, HOME: home } };
    const all = [...FLAGS, ...args];
    return new Browser(await chromium.launch({ executablePath, headless: true, args: all, ...env }));
  }

  /** A page that shares nothing with others. */
  async open(url: string): Promise<WatchedPage> {
    const context = await this.#chromium.newContext({ viewport: WIDE, colorScheme: "light" });
    const page = await context.newPage();
    // Guards against hanging only, as the limits in vitest.config.ts do.
    page.setDefaultTimeout(120_000);
    const watched = new WatchedPage(page, new URL(url).origin);
    await page.goto(url);
    return watched;
  }

  /**
   * What the page's main thread did while `work` ran. A browser has its own pages, in separate processes, which are
   * traced too: ours is the one where the page has left its mark.
   */
  async trace(page: Page, work: () => Promise<void>): Promise<readonly TraceEvent[]> {
    await this.#chromium.startTracing(page, {
      categories: ["devtools.timeline", "toplevel", "blink.user_timing"],
    });
    await work();
    await page.evaluate((mark) => void performance.mark(mark), MARK);
    const text = (await this.#chromium.stopTracing()).toString("utf8");
    const { traceEvents } = JSON.parse(text) as { traceEvents: TraceEvent[] };
    const left = traceEvents.find(({ name }) => name === MARK);
    if (left === undefined) throw new Error("the page's mark is not in the trace");
    return traceEvents.filter(({ pid, tid }) => pid === left.pid && tid === left.tid);
  }

  async close(): Promise<void> {
    await this.#chromium.close();
  }
}

/** Times are in microseconds; `tdur` is the thread's own time, without waiting for a core. */
export interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  readonly tdur?: number;
}

export class WatchedPage {
  readonly page: Page;
  /** Console messages and uncaught errors. */
  readonly errors: string[] = [];
  readonly foreign: string[] = [];
  readonly requests: Request[] = [];

  constructor(page: Page, origin: string) {
    this.page = page;
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.errors.push(message.text());
    });
    page.on("pageerror", (error) => this.errors.push(error.message));
    page.on("request", (request) => {
      this.requests.push(request);
      if (new URL(request.url()).origin !== origin) this.foreign.push(request.url());
    });
  }

  /** Screenshots for people: light, dark, and on a phone. */
  async shoot(name: string): Promise<void> {
    mkdirSync(ARTEFACTS, { recursive: true });
    const { page } = this;
    for (const [device, viewport, colorScheme] of LOOKS) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      const path = join(ARTEFACTS, `${name}-${device}-${colorScheme}.png`);
      await page.screenshot({ path, fullPage: true });
    }
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: "light" });
  }

  /** Figures, kept beside the screenshots. */
  note(name: string, ...lines: readonly string[]): void {
    mkdirSync(ARTEFACTS, { recursive: true });
    writeFileSync(join(ARTEFACTS, `${name}.txt`), `${lines.join("\n")}\n`);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
