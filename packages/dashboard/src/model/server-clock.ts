/**
 * What time it is at the service, for showing how long a lease still runs. Each answer names the second in which it was
 * sent; that lies between asking and receiving. Many answers narrow the difference down far below a second.
 */
export class ServerClock {
  /** Service minus page: at least, at most. */
  #leastMs: number = Number.NEGATIVE_INFINITY;
  #mostMs: number = Number.POSITIVE_INFINITY;

  /** `date` is the second of the answer; both others are on this page's clock. */
  observe(dateMs: number, askedAtMs: number, receivedAtMs: number): void {
    const least = dateMs - receivedAtMs;
    const most = dateMs + 1000 - askedAtMs;
    this.#leastMs = Math.max(this.#leastMs, least);
    this.#mostMs = Math.min(this.#mostMs, most);
    // A clock was set: what was known no longer counts.
    if (this.#leastMs > this.#mostMs) [this.#leastMs, this.#mostMs] = [least, most];
  }

  /** How far the estimate may be off, either way. */
  get marginMs(): number {
    return (this.#mostMs - this.#leastMs) / 2;
  }

  /** The service's time at a moment of this page. */
  at(pageMs: number): number {
    return Number.isFinite(this.marginMs) ? pageMs + (this.#leastMs + this.#mostMs) / 2 : pageMs;
  }
}
