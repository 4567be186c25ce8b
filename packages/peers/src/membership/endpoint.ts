import { InvalidRequestError } from "@tenure/core";

/** One spelling for one place: endpoints are compared. */
export function normalizeEndpoint(text: string, field: string): string {
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch (cause) {
    throw new InvalidRequestError(field, `is "${text}" and must be a URL such as https://node-1:7420`, {
      cause,
    });
  }
  const isPlain =
    ["", "/"].includes(url.pathname) && url.search === "" && url.hash === "" && url.username === "";
  if ((url.protocol !== "https:" && url.protocol !== "http:") || !isPlain) {
    throw new InvalidRequestError(field, `is "${text}" and must be https://HOST:PORT with nothing after it`);
  }
  return url.origin;
}
