import type { Metadata } from "@grpc/grpc-js";
import type { EtcdOptions } from "./options.js";
import type { Protocol } from "./protocol.js";

/** Asks etcd for a token, without showing it one: it would refuse an invalid one even here. */
type Ask = (name: string, password: string, metadata: Metadata) => Promise<{ readonly token: string }>;

/**
 * The token by which etcd knows the user. It is asked for when etcd refuses a call for want of one, and so never on a
 * cluster without authentication. All members know a token, until they restart or it expires.
 */
export class Login {
  readonly #protocol: Protocol;
  readonly #credentials: EtcdOptions["login"];
  #token: string | null = null;
  #renewing: Promise<void> | null = null;
  #metadata: readonly [plain: Metadata, withLeader: Metadata];

  constructor(protocol: Protocol, credentials: EtcdOptions["login"]) {
    this.#protocol = protocol;
    this.#credentials = credentials;
    this.#metadata = this.#metadataOf(null);
  }

  get isPossible(): boolean {
    return this.#credentials !== null;
  }

  get token(): string | null {
    return this.#token;
  }

  /** `requireLeader`: a member that is cut off from the others then refuses, or ends the stream. */
  metadata(requireLeader: boolean): Metadata {
    return this.#metadata[requireLeader ? 1 : 0];
  }

  /** Asks for another token, unless somebody does or has done since `refused` was found to be invalid. */
  async renew(refused: string | null, ask: Ask): Promise<void> {
    if (this.#credentials === null || this.#token !== refused) return;
    const { user, password } = this.#credentials;
    this.#renewing ??= ask(user, password, new this.#protocol.grpc.Metadata())
      .then(({ token }) => this.#use(token))
      .finally(() => (this.#renewing = null));
    await this.#renewing;
  }

  /** The next call does without, is refused and asks for another. */
  forget(): void {
    this.#use(null);
  }

  #use(token: string | null): void {
    this.#token = token;
    this.#metadata = this.#metadataOf(token);
  }

  #metadataOf(token: string | null): readonly [Metadata, Metadata] {
    const [plain, withLeader] = [new this.#protocol.grpc.Metadata(), new this.#protocol.grpc.Metadata()];
    withLeader.set("hasleader", "true");
    if (token !== null) for (const metadata of [plain, withLeader]) metadata.set("token", token);
    return [plain, withLeader];
  }
}
