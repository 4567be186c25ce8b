import { InvalidRequestError } from "@tenure/core";

/** A DNS name has at most 253 characters. The bound keeps a page of the registry below the size limit of an answer. */
export const MAX_ENDPOINT_LENGTH = 300;

/** Normalizes an endpoint, because endpoints are compared as text. */
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
  if (url.origin.length > MAX_ENDPOINT_LENGTH) {
    throw new InvalidRequestError(
      field,
      `has ${url.origin.length} characters; at most ${MAX_ENDPOINT_LENGTH} are allowed`,
    );
  }
  return url.origin;
}
