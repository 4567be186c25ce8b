/** What comes between two blank lines of a `text/event-stream`. */
export interface SseMessage {
  readonly id: string | null;
  readonly data: string | null;
  readonly retryMs: number | null;
}

/** Server-Sent Events from text as it arrives, cut anywhere. A message is whole only at its blank line. */
export class SseParser {
  #text = "";

  push(text: string): readonly SseMessage[] {
    // A lone CR at the end may be half of a CRLF.
    const held = this.#text + text;
    const isHalf = held.endsWith("\r");
    this.#text = (isHalf ? held.slice(0, -1) : held).replaceAll(/\r\n?/g, "\n") + (isHalf ? "\r" : "");
    const blocks = this.#text.split("\n\n");
    this.#text = blocks.pop() ?? "";
    return blocks.map(messageOf);
  }
}

function messageOf(block: string): SseMessage {
  let id: string | null = null;
  let retryMs: number | null = null;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === 0) continue; // A comment.
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "id") id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  }
  return { id, data: data.length === 0 ? null : data.join("\n"), retryMs };
}
