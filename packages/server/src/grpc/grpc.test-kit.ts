/** A gRPC client as a user would write it: grpc-js with the proto file. Closed by `cleanUp`. */
import { type ClientHttp2Stream, connect } from "node:http2";
import {
  type CallOptions,
  Client,
  type ClientReadableStream,
  credentials as grpcCredentials,
  type ChannelCredentials,
  Metadata,
  type MethodDefinition,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { later, type Service, serve } from "../http/service.test-kit.js";
import type { TenureServerOptions } from "../options.js";
import type { TenureServerDeps } from "../tenure-server.js";
import { PROTO_PATH } from "./proto-services.js";

const proto = loadSync(PROTO_PATH, { keepCase: true, longs: Number });

/** A test that knows more about a reply says so by its type argument. */
export type Reply = Readonly<Record<string, unknown>>;

type Method = MethodDefinition<object, Reply>;

/** Of a name such as `Election/Renew`. */
function methodOf(name: string): Method {
  const [service, method] = name.split("/") as [string, string];
  return (proto[`tenure.v1.${service}`] as Record<string, Method>)[method] as Method;
}

export interface GrpcAnswer {
  /** Such as `OK` or `NOT_FOUND`. */
  readonly status: string;
  readonly message: string;
  readonly body: Reply;
  /** What `tenure-error` held. */
  readonly error: Reply;
  readonly trailers: Readonly<Record<string, unknown>>;
}

export class GrpcClient {
  readonly client: Client;
  readonly #metadata: Readonly<Record<string, string>>;

  constructor(
    address: string,
    credentials: ChannelCredentials = grpcCredentials.createInsecure(),
    metadata: Readonly<Record<string, string>> = {},
    options: object = {},
  ) {
    // Not shared with other clients of a test: each has its own connection.
    this.client = new Client(address, credentials, { "grpc.use_local_subchannel_pool": 1, ...options });
    this.#metadata = metadata;
    later(() => this.client.close());
  }

  /** The reply; rejects if there is none. */
  async call<T extends object = Reply>(name: string, request: object, options?: CallOptions): Promise<T> {
    const { status: found, message, body } = await this.ask(name, request, options);
    if (found !== "OK") throw new Error(`${name} was refused: ${found} ${message}`);
    return body as T;
  }

  ask(name: string, request: object, options: CallOptions = {}): Promise<GrpcAnswer> {
    return this.begin(name, request, options).answer;
  }

  begin(
    name: string,
    request: object,
    options: CallOptions = {},
  ): { answer: Promise<GrpcAnswer>; cancel: () => void } {
    const { path, requestSerialize, responseDeserialize } = methodOf(name);
    const bytes = (value: object): Buffer => (Buffer.isBuffer(value) ? value : requestSerialize(value));
    let cancel = (): void => {};
    const answer = new Promise<GrpcAnswer>((resolve) => {
      let reply: Reply | undefined;
      let failure: ServiceError | null = null;
      const call = this.client.makeUnaryRequest(
        path,
        bytes,
        responseDeserialize,
        request,
        this.metadata(),
        options,
        (error, value) => {
          failure = error;
          reply = value;
        },
      );
      cancel = () => call.cancel();
      call.on("status", ({ metadata }) => {
        setImmediate(() => resolve(answerOf(failure, reply, metadata)));
      });
    });
    return { answer, cancel: () => cancel() };
  }

  stream(name: string, request: object): GrpcStream {
    const { path, requestSerialize, responseDeserialize } = methodOf(name);
    return new GrpcStream(
      this.client.makeServerStreamRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        this.metadata(),
      ),
    );
  }

  metadata(): Metadata {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(this.#metadata)) metadata.set(name, value);
    return metadata;
  }
}

export interface WatchItem {
  readonly event: { readonly type: string; readonly term: number; readonly leader_node_id?: string };
  readonly cursor: string;
}

class GrpcStream {
  readonly call: ClientReadableStream<Reply>;
  /** Of the end, which for a watch is always a failure. */
  readonly end: Promise<GrpcAnswer>;
  readonly #items: AsyncIterator<Reply>;

  constructor(call: ClientReadableStream<Reply>) {
    this.call = call;
    this.end = new Promise((resolve) => {
      call.on("error", (error: ServiceError) => resolve(answerOf(error, undefined, error.metadata)));
    });
    this.#items = call[Symbol.asyncIterator]() as AsyncIterator<Reply>;
    later(() => call.cancel());
  }

  async next(): Promise<WatchItem> {
    const item = await this.#items.next();
    if (item.done === true) throw new Error("the stream has ended");
    return item.value as unknown as WatchItem;
  }
}

/**
 * A reader that reads nothing until the test says so. A grpc-js client cannot do that: it keeps all input in its own
 * memory.
 */
export class SleepyReader {
  readonly #stream: ClientHttp2Stream;
  readonly #method: Method;

  constructor(address: string, name: string, request: object) {
    this.#method = methodOf(name);
    const session = connect(`http://${address}`);
    later(() => session.destroy());
    this.#stream = session.request({
      ":method": "POST",
      ":path": this.#method.path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const message = this.#method.requestSerialize(request);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    this.#stream.end(Buffer.concat([head, message]));
  }

  async *wakeUp(): AsyncGenerator<WatchItem, void> {
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of this.#stream) {
      rest = Buffer.concat([rest, chunk as Buffer]);
      for (let end = 0; rest.length >= 5 && rest.length >= (end = 5 + rest.readUInt32BE(1));) {
        yield this.#method.responseDeserialize(rest.subarray(5, end)) as unknown as WatchItem;
        rest = rest.subarray(end);
      }
    }
  }
}

function answerOf(failure: ServiceError | null, reply: Reply | undefined, metadata: Metadata): GrpcAnswer {
  const trailers = metadata.getMap();
  const error = trailers["tenure-error"];
  return {
    status: status[failure?.code ?? status.OK],
    message: failure?.details ?? "",
    body: reply as Reply,
    error: (typeof error === "string" ? JSON.parse(error) : undefined) as Reply,
    trailers,
  };
}

/** A service with both transports. */
export async function serveGrpc(
  given: TenureServerOptions = {},
  parts: TenureServerDeps = {},
): Promise<{ http: Service; grpc: GrpcClient; address: string }> {
  const http = await serve({ grpc: "127.0.0.1:0", ...given }, parts);
  const address = http.server.grpcAddress ?? "";
  return { http, address, grpc: new GrpcClient(address) };
}
