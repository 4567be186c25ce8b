/** What the service shares with the fence: keys that verify signatures. Outside of semantic versioning: any release may change it. */
export { fetchKeys, KeyCache, type KeyLoad } from "./mandates/key-cache.js";
export { type KeyAlgorithm, type KeySet, parseKeySet } from "./mandates/key-set.js";
