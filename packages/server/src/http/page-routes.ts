/** The dashboard at `/`. The page itself contains nothing about groups: it requests what it shows with the credentials of its reader. */
import { PAGE_DIRECTORY } from "@tenure/dashboard";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ServiceError } from "../service-error.js";
import type { App } from "./app.js";
import { chooseEncoding, readStaticPage, type StaticFile } from "./static-page.js";

/** No inline code, nothing from other origins, no framing; text never becomes markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  vary: "accept-encoding",
} as const;

const exposeHeadRoute = true;

export async function pageRoutes(app: App, directory: string = PAGE_DIRECTORY): Promise<void> {
  const page = await readStaticPage(directory);

  app.get("/", { exposeHeadRoute }, (request, reply) => {
    if (page === null) {
      throw new ServiceError("NOT_FOUND", "the dashboard is not built; run npm run build, then start again");
    }
    return sendFile(request, reply, page.index, "no-cache");
  });

  app.get("/assets/:file", { exposeHeadRoute }, (request, reply) => {
    const name = (request.params as { file: string }).file;
    const file = page?.assets.get(name);
    if (file === undefined) throw new ServiceError("NOT_FOUND", `asset ${name} not found; reload the page`);
    return sendFile(request, reply, file, "public, max-age=31536000, immutable");
  });
}

function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, bodies, etag }: StaticFile,
  caching: string,
): FastifyReply {
  const encoding = chooseEncoding(request.headers["accept-encoding"]);
  const tag = `"${etag}-${encoding}"`;
  reply.headers({ ...HEADERS, "cache-control": caching, etag: tag });
  if (isKnown(request.headers["if-none-match"], tag)) return reply.code(304).send();
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return reply.header("content-type", type).send(bodies[encoding]);
}

function isKnown(given: string | undefined, tag: string): boolean {
  return given?.split(",").some((each) => each.trim().replace(/^W\//, "") === tag) === true;
}
