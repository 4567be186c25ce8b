/**
 * A NestJS application with a provider that works only while this process leads: a singleton over all copies of the
 * application. On shutdown the work ends first, then the lease is released, so that another copy continues at once.
 *
 *     node examples/dist/nestjs.js a     # and b in another terminal
 *
 * It needs `experimentalDecorators` in tsconfig.json. Shown without HTTP; with `NestFactory.create` it is the same.
 */
import { setInterval as ticks } from "node:timers/promises";
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Election, type ElectorAdmin, type Mandate, openElector } from "@tenure/client";

const [nodeId = `node-${process.pid}`] = process.argv.slice(2);
const say = (text: string) => process.stdout.write(`${nodeId} ${text}\n`);

/** One election of this process. Inject it, and give it the work in `onModuleInit`: it starts afterwards. */
@Injectable()
export class Leadership implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly election: Election;
  readonly #elector: ElectorAdmin;

  static async open(groupId: string): Promise<Leadership> {
    const elector = await openElector(process.env["TENURE_SERVER"] ?? "http://127.0.0.1:7420");
    return new Leadership(elector, groupId);
  }

  private constructor(elector: ElectorAdmin, groupId: string) {
    this.#elector = elector;
    this.election = new Election(elector, { groupId, nodeId, ttlMs: 5_000 });
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.election.start();
  }

  /** Nest calls it on a signal, before it closes connections and calls `onApplicationShutdown`. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.election.stop({ timeoutMs: 10_000 });
    await this.#elector.close();
  }
}

@Injectable()
export class Reports implements OnModuleInit {
  readonly #leadership: Leadership;

  constructor(@Inject(Leadership) leadership: Leadership) {
    this.#leadership = leadership;
  }

  onModuleInit(): void {
    this.#leadership.election.onPromote((mandate, signal) => this.#work(mandate, signal));
  }

  async #work({ term }: Mandate, signal: AbortSignal): Promise<void> {
    say(`begins its work in term ${term}`);
    try {
      for await (const _ of ticks(100, undefined, { signal })) {
        // A short round of work; send the term with each write.
      }
    } finally {
      say("has ended its work");
    }
  }
}

@Module({
  providers: [{ provide: Leadership, useFactory: () => Leadership.open("nestjs-singleton") }, Reports],
})
// oxlint-disable-next-line typescript/no-extraneous-class -- the decorator is all that a module of NestJS needs
export class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ["error", "warn"] });
app.enableShutdownHooks(["SIGTERM", "SIGINT"], { useProcessExit: true });
say("has started");
