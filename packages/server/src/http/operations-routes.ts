import { HealthReply } from "@tenure/api/schemas";
import type { FastifyReply, FastifyRequest } from "fastify";
import { checkMaySeeAll } from "../auth/caller.js";
import type { App, AppDeps } from "./app.js";
import { DOCS_PAGE } from "./docs-page.js";
import { routeOf } from "./verb-routes.js";

/** The verbs about HTTP itself. */
export function operationsRoutes(app: App, { metrics, isReady }: AppDeps): void {
  app.route({ ...routeOf("alive"), handler: async () => ({ ok: true }) });

  app.route({
    ...routeOf("ping", { 503: HealthReply }),
    handler: async (_: FastifyRequest, reply: FastifyReply) => {
      const ok = await isReady();
      return reply.code(ok ? 200 : 503).send({ ok });
    },
  });

  app.route({
    ...routeOf("metrics"),
    handler: async ({ caller }: FastifyRequest, reply: FastifyReply) => {
      // Their labels name groups.
      checkMaySeeAll(caller, "metrics show");
      const text = await metrics.registry.metrics();
      return reply.header("content-type", metrics.registry.contentType).send(text);
    },
  });

  app.route({ ...routeOf("openapi"), handler: async () => app.swagger() });

  app.route({
    ...routeOf("docs"),
    handler: async (_: FastifyRequest, reply: FastifyReply) =>
      reply
        .header("content-type", "text/html; charset=utf-8")
        .header("content-security-policy", DOCS_POLICY)
        .send(DOCS_PAGE),
  });
}

const DOCS_POLICY =
  "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
