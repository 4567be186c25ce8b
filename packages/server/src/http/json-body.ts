import type { FastifyInstance } from "fastify";

/** JSON and nothing else. An empty body is none, whatever its content type says: many clients always send that header. */
export function takeJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else void parse(request, body as string, done);
  });
}
