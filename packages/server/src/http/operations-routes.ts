import type { App, AppParts } from "./app.js";
import { DOCS_PAGE } from "./docs-page.js";

const tags = ["operations"];

export function operationsRoutes(app: App, { service, metrics, isReady }: AppParts): void {
  app.get("/healthz", { schema: { tags, summary: "Alive" } }, () => ({ ok: true }));

  app.get("/readyz", { schema: { tags, summary: "Whether the store answers" } }, async (_, reply) => {
    const ok = await isReady();
    return reply.code(ok ? 200 : 503).send({ ok });
  });

  app.get("/metrics", { schema: { tags, summary: "Prometheus metrics" } }, async (_, reply) => {
    const text = await metrics.registry.metrics();
    return reply.header("content-type", metrics.registry.contentType).send(text);
  });

  app.get("/v1/keys", { schema: { tags, summary: "Public keys of signed mandates" } }, () => service.keys());

  app.get("/openapi.json", () => app.swagger());

  app.get("/docs", (_, reply) =>
    reply
      .header("content-type", "text/html; charset=utf-8")
      .header(
        "content-security-policy",
        "default-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'",
      )
      .send(DOCS_PAGE),
  );
}
