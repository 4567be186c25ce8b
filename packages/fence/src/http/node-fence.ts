/** The fence in front of plain node:http handlers, and of frameworks with `(req, res, next)`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { HttpFence, type HttpFenceOptions, type Refusal } from "./http-fence.js";

/** `IncomingMessage`, or what a framework has made of it. */
export type RequestLike = Pick<IncomingMessage, "headers">;
export type ResponseLike = Pick<ServerResponse, "writeHead" | "end">;

/** `if (!(await fence(req, res))) return;`: false means that the request has been answered. */
export function nodeFence<Request extends RequestLike = IncomingMessage>(
  options: HttpFenceOptions<Request>,
): (request: Request, response: ResponseLike) => Promise<boolean> {
  const fence = new HttpFence<Request>(options);
  return async (request, response) => {
    const verdict = await fence.judge(request);
    if (verdict.kind === "admitted") return true;
    answer(response, verdict.refusal);
    return false;
  };
}

/** `app.use("/jobs", expressFence({ … }))`. A fault of the fence itself goes to `next`, as everywhere. */
export function expressFence<Request extends RequestLike = IncomingMessage>(
  options: HttpFenceOptions<Request>,
): (request: Request, response: ResponseLike, next: (error?: unknown) => void) => void {
  const fence = nodeFence<Request>(options);
  return (request, response, next) => {
    // Two handlers, lest an error that `next` throws itself come back to it.
    void fence(request, response).then((isAdmitted) => {
      if (isAdmitted) next();
    }, next);
  };
}

function answer(response: ResponseLike, { status, headers, body }: Refusal): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...headers,
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
  });
  response.end(text);
}
