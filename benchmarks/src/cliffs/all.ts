import type { Cliff } from "./cliff.js";
import { leases } from "./leases.js";
import { pages } from "./pages.js";
import { waiters } from "./waiters.js";
import { watches } from "./watches.js";

export const CLIFFS: readonly Cliff[] = [waiters, leases, watches, pages];
