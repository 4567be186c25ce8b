import { BOOTSTRAP_SCRIPTS } from "./scripts/bootstrap-scripts.js";
import { LEADER_SCRIPTS } from "./scripts/leader-scripts.js";
import { SAFETY_SCRIPTS } from "./scripts/safety-scripts.js";
import type { Script } from "./scripts/script.js";
import { SERVER_SCRIPTS } from "./scripts/server-scripts.js";

export const SCRIPTS: readonly Script[] = [
  ...SAFETY_SCRIPTS,
  ...BOOTSTRAP_SCRIPTS,
  ...LEADER_SCRIPTS,
  ...SERVER_SCRIPTS,
];
