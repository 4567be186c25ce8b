/**
 * The contract of `Elector` as a suite: whatever passes it serves every `Election`. It imports no test runner, so an
 * elector's whole test file is one call:
 *
 *     electorConformance({ test, open, features: { admin: true } });
 *
 * It runs in real time, over whatever network there is: leases are 500 ms where a law is about their end, and long
 * where it is not. Nothing in it sleeps.
 */
import { actLaws } from "./elector-acts.js";
import { abortLaws, closeLaws } from "./elector-lifecycle.js";
import { groupLaws, historyLaws } from "./elector-groups.js";
import { pauseLaws, policyLaws, stepDownLaws } from "./elector-operations.js";
import { readinessAdminLaws, readinessLaws } from "./elector-readiness.js";
import { adminRequestLaws, requestLaws } from "./elector-requests.js";
import { type AdminBench, type Bench, electorLawOf, type OpenElector } from "./elector-support.js";
import { termLaws } from "./elector-terms.js";
import { transferLaws } from "./elector-transfers.js";
import { waitingLaws } from "./elector-waiting.js";
import { watchLaws } from "./elector-watching.js";
import type { TestFunction } from "./support.js";

export interface ElectorFeatures {
  /** Whether the elector is an `ElectorAdmin`. */
  readonly admin?: boolean;
}

export interface ElectorConformanceOptions {
  readonly test: TestFunction;
  /** Called again for each law. Group ids are never reused, so all laws may share the state behind the elector. */
  readonly open: () => Promise<OpenElector>;
  readonly features?: ElectorFeatures;
}

export function electorConformance({ test, open, features = {} }: ElectorConformanceOptions): void {
  const law = electorLawOf<Bench>(test, open);
  termLaws(law);
  waitingLaws(law);
  readinessLaws(law);
  watchLaws(law);
  requestLaws(law);
  abortLaws(law);
  closeLaws(law);
  if (features.admin !== true) return;
  const adminLaw = electorLawOf<AdminBench>(test, open);
  stepDownLaws(adminLaw);
  pauseLaws(adminLaw);
  policyLaws(adminLaw);
  transferLaws(adminLaw);
  readinessAdminLaws(adminLaw);
  groupLaws(adminLaw);
  historyLaws(adminLaw);
  actLaws(adminLaw);
  adminRequestLaws(adminLaw);
}
