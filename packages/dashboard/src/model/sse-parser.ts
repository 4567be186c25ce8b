/** Server-Sent Events out of a stream of text, however it is cut. */

export interface SseMessage {
  readonly data: string;
  /** The cursor to resume from, where the message carries one. */
  readonly id: string | null;
}

export class SseParser {
  /** How soon to come back after the end, as the server last said. */
  retryMs: number | null = null;
  #rest = "";
  #data: string[] = [];
  #id: string | null = null;

  push(text: string): readonly SseMessage[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    const messages: SseMessage[] = [];
    for (const line of lines) {
      if (line !== "") this.#field(line);
      else if (this.#data.length > 0 || this.#id !== null) {
        if (this.#data.length > 0) messages.push({ data: this.#data.join("\n"), id: this.#id });
        this.#data = [];
        this.#id = null;
      }
    }
    return messages;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    // A comment keeps the connection awake and says nothing.
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
  }
}
