import type { FastifyInstance } from "fastify";
import { ServiceError } from "../service-error.js";
import { parseJson } from "../wire/parse-json.js";

/** JSON and nothing else. An empty body is none, whatever its content type says: many clients always send that header. */
export function takeJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_, body, done) => {
    try {
      done(null, body === "" ? undefined : parseJson(body as string));
    } catch (cause) {
      const message =
        "the body is not valid JSON, or has a key that is refused (__proto__, constructor.prototype)";
      done(new ServiceError("INVALID_REQUEST", message, {}, { cause }));
    }
  });
}
