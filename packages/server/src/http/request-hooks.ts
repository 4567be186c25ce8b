/** What every request goes through: a name for it, who sends it, how often they may, how long it took. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type Authenticator, LoopbackAuthenticator } from "../auth/authenticator.js";
import type { Caller } from "../auth/caller.js";
import { verifiedCertificate } from "../auth/client-certificate.js";
import { ServiceError } from "../service-error.js";
import type { AppParts } from "./app.js";

/** Paths that tell nothing of any group, so anyone may ask. */
const OPEN_PATHS = new Set([
  "/",
  "/assets/:file",
  "/healthz",
  "/readyz",
  "/openapi.json",
  "/docs",
  "/v1/keys",
]);

declare module "fastify" {
  interface FastifyContextConfig {
    readonly ownIdentity?: boolean;
  }
  interface FastifyRequest {
    /** Set before any handler of a route that needs to know. */
    caller: Caller;
    /** So many more requests than one were in it. */
    charge: (requests: number) => void;
  }
}

export function addRequestHooks(app: FastifyInstance, parts: AppParts): void {
  const { authenticator, limiter, metrics, log, stopping } = parts;
  // Where nobody says who they are, their address tells them apart.
  const isAnonymous = authenticator instanceof LoopbackAuthenticator;

  app.decorateRequest("caller");
  app.decorateRequest("charge");

  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    // On a connection that was open already.
    if (stopping.aborted) return done(stoppingError());
    if (OPEN_PATHS.has(request.routeOptions.url ?? "")) return done();
    // Such a route tells by itself who asks.
    if (request.routeOptions.config.ownIdentity === true) return done();
    const admit = (caller: Caller) => {
      const account = isAnonymous ? request.ip : caller.name;
      request.caller = caller;
      request.charge = (requests) => limiter?.charge(account, requests);
      limiter?.admit(account);
    };
    try {
      const found = authenticator.authenticate(credentialsOf(request));
      if (!(found instanceof Promise)) {
        admit(found);
        return done();
      }
      found.then(admit).then(() => done(), done);
    } catch (error) {
      done(error as Error);
    }
  });

  app.addHook("onResponse", (request, reply, done) => {
    const route = request.routeOptions.url ?? "none";
    const { method, id } = request;
    const { statusCode: status, elapsedTime: ms } = reply;
    metrics.observeRequest(route, method, status, ms);
    if (log.isLevelEnabled("debug")) log.debug({ req_id: id, method, route, status, ms }, "answered");
    done();
  });
}

function stoppingError(): ServiceError {
  return new ServiceError("BACKEND_UNAVAILABLE", "this server is stopping; ask another");
}

function credentialsOf(request: FastifyRequest): Parameters<Authenticator["authenticate"]>[0] {
  return {
    authorization: request.headers.authorization,
    certificate: verifiedCertificate(request.raw.socket),
  };
}
