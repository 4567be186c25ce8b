/**
 * A kit for tests in virtual time: clocks that lie, a store that fails within its contract, chance from a seed.
 * Not for production.
 */
export { type FaultPlan, noFaults } from "./fault-plan.js";
export { FaultyStore, type FaultyStoreOptions } from "./faulty-store.js";
export { type Gate, ProcessClock, type ProcessClockOptions, type StopPlan } from "./process-clock.js";
export { Random } from "./random.js";
export { VirtualClock } from "./virtual-clock.js";
