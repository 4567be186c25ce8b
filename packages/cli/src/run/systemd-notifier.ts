/**
 * Tells systemd what this service does, if it asks (`NOTIFY_SOCKET`, see sd_notify(3)): READY=1, STATUS=…, STOPPING=1 and WATCHDOG=1.
 *
 * The socket is a Unix datagram socket, which Node cannot open, so the program `systemd-notify` of systemd sends each message. It is
 * started only when something has changed and for the watchdog, one at a time; what changes meanwhile goes into the next message.
 */
import { spawn } from "node:child_process";
import type { CancelTimer, Clock } from "@tenure/core";
import type { Report, RunEvent, RunReport } from "./run-report.js";

export interface SystemdNotifierOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly report: Report;
}

/** The process that systemd speaks to is `tenure run`, not its command. */
const OWN = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] as const;

/** After one of these, the service is up: it has joined the election, or knows why it may not yet. */
const MAKES_READY: ReadonlySet<RunEvent> = new Set([
  "waiting",
  "paused",
  "held_back",
  "elected",
  "health_failed",
]);
/** systemd-notify waits up to 5 s for systemd to read its message. */
const SEND_LIMIT_MS = 10_000;

export class SystemdNotifier {
  readonly #options: SystemdNotifierOptions;
  /** What the next message contains. */
  readonly #changes = new Map<string, string>();
  #sending: Promise<void> | null = null;
  #isReady = false;
  #hasFailed = false;
  #cancelWatchdog: CancelTimer = () => {};

  /** `null` if this process is no service of systemd that wants notifications. */
  static of(options: SystemdNotifierOptions): SystemdNotifier | null {
    return (options.env["NOTIFY_SOCKET"] ?? "") === "" ? null : new SystemdNotifier(options);
  }

  constructor(options: SystemdNotifierOptions) {
    this.#options = options;
  }

  start(): void {
    const periodMs = watchdogMs(this.#options.env);
    if (periodMs !== null) this.#watchdog(periodMs / 2);
  }

  notice({ event, message }: RunReport): void {
    if (event === "notify_failed") return;
    if (MAKES_READY.has(event)) this.ready(message);
    else this.#status(message);
  }

  /** The service is up. */
  ready(status: string): void {
    if (!this.#isReady) this.#change("READY", "1");
    this.#isReady = true;
    this.#status(status);
  }

  stopping(): void {
    this.#change("STOPPING", "1");
  }

  /** Resolves when the last message was sent. */
  async close(): Promise<void> {
    this.#cancelWatchdog();
    await this.#sending;
  }

  #status(text: string): void {
    this.#change("STATUS", text.replaceAll("\n", " "));
  }

  /** At half the period, as systemd recommends. */
  #watchdog(everyMs: number): void {
    this.#change("WATCHDOG", "1");
    this.#cancelWatchdog = this.#options.clock.after(everyMs, () => this.#watchdog(everyMs));
  }

  #change(name: string, value: string): void {
    this.#changes.set(name, value);
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
    });
  }

  async #send(): Promise<void> {
    while (this.#changes.size > 0 && !this.#hasFailed) {
      const message = [...this.#changes].map(([name, value]) => `${name}=${value}`);
      this.#changes.clear();
      await this.#notify(message);
    }
  }

  #notify(message: readonly string[]): Promise<void> {
    const { env } = this.#options;
    return new Promise((resolve) => {
      const sender = spawn("systemd-notify", ["--", ...message], {
        env: { PATH: env["PATH"], NOTIFY_SOCKET: env["NOTIFY_SOCKET"] },
        stdio: "ignore",
        timeout: SEND_LIMIT_MS,
        killSignal: "SIGKILL",
      });
      sender.on("error", (error) => {
        this.#failed(`systemd-notify cannot be run: ${error.message}`);
        resolve();
      });
      sender.on("exit", (code, signal) => {
        if (code !== 0)
          this.#failed(`systemd-notify failed: ${code === null ? signal : `exit code ${code}`}`);
        resolve();
      });
    });
  }

  /** Reported once; nothing more is sent. */
  #failed(problem: string): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#cancelWatchdog();
    const message = `systemd is not notified: ${problem}`;
    this.#options.report({ event: "notify_failed", message, fields: {} });
  }
}

/** The environment for the command. */
export function withoutSystemd(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const own: readonly string[] = OWN;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !own.includes(name)));
}

/** The period of the watchdog; `null` if systemd has set none, or set it for another process. */
function watchdogMs(env: Readonly<Record<string, string | undefined>>): number | null {
  const pid = env["WATCHDOG_PID"] ?? "";
  const ms = Number(env["WATCHDOG_USEC"] ?? "") / 1000;
  return ms >= 1 && (pid === "" || pid === String(process.pid)) ? ms : null;
}
