import { ServiceError } from "../service-error.js";
import { whoamiShape } from "../wire/codec.js";
import * as shapes from "../wire/shapes.js";
import type { App, AppParts } from "./app.js";
import { DOCS_PAGE } from "./docs-page.js";

const tags = ["operations"];
/** Load balancers ask for the head only. */
const exposeHeadRoute = true;

export function operationsRoutes(app: App, { service, metrics, isReady }: AppParts): void {
  app.get(
    "/healthz",
    { exposeHeadRoute, schema: { tags, summary: "Alive", response: { 200: shapes.HealthReply } } },
    () => ({ ok: true }),
  );

  const health = { 200: shapes.HealthReply, 503: shapes.HealthReply };
  app.get(
    "/readyz",
    { exposeHeadRoute, schema: { tags, summary: "Whether the store answers", response: health } },
    async (_, reply) => {
      const ok = await isReady();
      return reply.code(ok ? 200 : 503).send({ ok });
    },
  );

  app.get("/metrics", { schema: { tags, summary: "Prometheus metrics" } }, async ({ caller }, reply) => {
    // Their labels name groups.
    if (caller.role !== "admin" && caller.groups !== null) {
      throw new ServiceError(
        "UNAUTHORIZED",
        `${caller.name} may see some groups only, and metrics tell of all`,
      );
    }
    const text = await metrics.registry.metrics();
    return reply.header("content-type", metrics.registry.contentType).send(text);
  });

  app.get(
    "/v1/keys",
    {
      schema: { tags, summary: "Public keys of signed mandates (JWKS)", response: { 200: shapes.KeysReply } },
    },
    () => service.keys(),
  );

  app.get(
    "/v1/whoami",
    {
      schema: {
        tags,
        summary: "Whom the service takes the caller for",
        querystring: shapes.NoQuery,
        response: { 200: shapes.WhoamiReply },
      },
    },
    ({ caller }) => whoamiShape(caller),
  );

  app.get("/openapi.json", { schema: { tags, summary: "This document" } }, () => app.swagger());

  app.get("/docs", { schema: { tags, summary: "This document, for people" } }, (_, reply) =>
    reply
      .header("content-type", "text/html; charset=utf-8")
      .header(
        "content-security-policy",
        "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " +
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      )
      .send(DOCS_PAGE),
  );
}
