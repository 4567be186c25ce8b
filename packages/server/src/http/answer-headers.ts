/**
 * What every answer tells a browser: nothing here is a script, a page or a picture of anybody else, and answers about groups
 * are not kept. Pages have a policy of their own.
 */
export const ANSWER_HEADERS = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
} as const;
