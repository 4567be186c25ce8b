import { randomUUID } from "node:crypto";
import type { Configuration, DiskContents, PeerDisk, Vote } from "../protocol/messages.js";
import type { OwnRecords } from "./own-records.js";

/** The disk of a peer in the server's own store: votes are durable before they are answered. */
export class StoredDisk implements PeerDisk {
  readonly id: string;
  readonly #records: OwnRecords;

  private constructor(id: string, records: OwnRecords) {
    this.id = id;
    this.#records = records;
  }

  /** Gives the disk its id when it is first used. */
  static async open(records: OwnRecords): Promise<StoredDisk> {
    const known = records.get("disk") as string | null;
    const id = known ?? randomUUID();
    if (known === null) await records.put({ disk: id });
    return new StoredDisk(id, records);
  }

  read(): DiskContents {
    return {
      vote: this.#records.get("vote") as Vote | null,
      config: this.#records.get("config") as Configuration | null,
    };
  }

  write(change: { readonly vote?: Vote; readonly config?: Configuration }): Promise<void> {
    return this.#records.put({ ...change });
  }
}
