/** The health service, as gRPC probes use it. */
import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterEach, expect, it } from "vitest";
import { cleanUp, faulty, later, serveKnown } from "../http/service.test-kit.js";
import { serveGrpc } from "./grpc.test-kit.js";
import { HEALTH_PROTO_PATH } from "./proto-services.js";

afterEach(cleanUp);

interface Method {
  readonly path: string;
  readonly requestSerialize: (value: object) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => { readonly status: string };
}

const { Check, Watch } = loadSync(HEALTH_PROTO_PATH, { enums: String, defaults: true })[
  "grpc.health.v1.Health"
] as unknown as Readonly<Record<"Check" | "Watch", Method>>;

class Probe {
  readonly #client: Client;

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure());
    later(() => this.#client.close());
  }

  check(service: string): Promise<string> {
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        Check.path,
        Check.requestSerialize,
        Check.responseDeserialize,
        { service },
        (error, reply) => resolve(error === null ? (reply?.status ?? "") : (status[error.code] ?? "")),
      );
    });
  }

  /** Each status; `null` at the end. */
  watch(service: string): () => Promise<string | null> {
    const call = this.#client.makeServerStreamRequest(
      Watch.path,
      Watch.requestSerialize,
      Watch.responseDeserialize,
      { service },
    );
    later(() => call.cancel());
    call.on("error", (_: ServiceError) => {});
    const items = call[Symbol.asyncIterator]() as AsyncIterator<{ status: string }>;
    return async () => {
      const item = await items.next().catch(() => null);
      return item === null || item.done === true ? null : item.value.status;
    };
  }
}

it("gRPC health is SERVING for the server and each of its services, without credentials", async () => {
  const { service } = await serveKnown({ grpc: "127.0.0.1:0" });
  const probe = new Probe(service.server.grpcAddress ?? "");
  for (const name of ["", "tenure.v1.Election", "tenure.v1.Groups", "tenure.v1.Operations"]) {
    expect(await probe.check(name)).toBe("SERVING");
  }
  expect(await probe.check("somebody.Else")).toBe("NOT_FOUND");
  expect(await probe.watch("somebody.Else")()).toBe("SERVICE_UNKNOWN");
});

it("gRPC health is NOT_SERVING while the store does not answer, and when the server stops", async () => {
  const { store, goOut, comeBack } = faulty();
  const { http, address } = await serveGrpc({}, { store });
  const probe = new Probe(address);
  const next = probe.watch("");
  expect(await next()).toBe("SERVING");
  goOut();
  expect(await next()).toBe("NOT_SERVING");
  expect(await probe.check("")).toBe("NOT_SERVING");
  comeBack();
  expect(await next()).toBe("SERVING");
  await Promise.all([http.server.close(), (async () => expect(await next()).toBe("NOT_SERVING"))()]);
  expect(await next()).toBeNull();
});

it("gRPC health is rate-limited by address, as HTTP probes are", async () => {
  const { service } = await serveKnown({ grpc: "127.0.0.1:0", rateLimit: 1 });
  const probe = new Probe(service.server.grpcAddress ?? "");
  const found = await Promise.all(Array.from({ length: 20 }, () => probe.check("")));
  expect(found).toContain("RESOURCE_EXHAUSTED");
});
