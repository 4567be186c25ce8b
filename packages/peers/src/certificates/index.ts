/** Certificates of a cluster: an authority, and the bundles that it issues. */
export {
  Authority,
  type AuthorityOptions,
  type IssueOptions,
  type KeyKind,
  type RevokeOptions,
} from "./authority.js";
export { type Bundle, parseBundle } from "./bundle.js";
export { type SpiffeName, spiffeUri } from "@tenure/core/internal";
export type { CertificateKind } from "./spiffe.js";
