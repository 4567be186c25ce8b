/** Installs the engines that tests need, if it has the permission, and reports those that are still missing. */
import { areRequired, howToInstall, installMissing } from "./install.js";

const missing = installMissing();
if (missing.length > 0) {
  const consequence = areRequired() ? "they are required" : "their tests are skipped";
  console.error(`Not installed: ${missing.join(", ")}; ${consequence}. ${howToInstall(missing)}`);
  if (areRequired()) process.exitCode = 1;
}
