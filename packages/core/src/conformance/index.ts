/** Suites that an implementation of a port runs to show that it keeps the contract. */
export { electorConformance, type ElectorConformanceOptions, type ElectorFeatures } from "./elector.js";
export type { OpenElector } from "./elector-support.js";
export { storeConformance, type StoreConformanceOptions } from "./store.js";
export type { TestFunction } from "./support.js";
