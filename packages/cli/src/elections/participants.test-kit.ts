import { Scratch } from "../scratch.test-kit.js";
import type { ServerProcess } from "../server-process.test-kit.js";
import type { ParticipantOptions } from "./messages.test-kit.js";
import { Participant } from "./participant.test-kit.js";

/** A service and participants of elections, all gone after `close`. */
export class Participants {
  readonly #scratch = new Scratch();
  readonly #launched: Participant[] = [];

  /** `tenure serve` over its own embedded store. */
  serve(): Promise<ServerProcess> {
    const store = `embedded:${this.#scratch.directory()}`;
    return this.#scratch.serve(["--listen", "127.0.0.1:0", "--store", store, "--log-level", "warn"]);
  }

  async launch(options: ParticipantOptions): Promise<Participant> {
    const participant = await Participant.launch(options);
    this.#launched.push(participant);
    return participant;
  }

  async close(): Promise<void> {
    await Promise.all(this.#launched.map((participant) => participant.kill()));
    await this.#scratch.close();
  }
}
