/**
 * Uses a share of a processor and does nothing else: what an attacker takes from the service by running on its machine.
 */
const { share } = JSON.parse(process.argv[2] ?? "") as { readonly share: number };
const PERIOD_MS = 20;

process.on("message", () => process.exit());
process.on("disconnect", () => process.exit());
setInterval(() => {
  const untilMs = performance.now() + PERIOD_MS * Math.min(1, share);
  while (performance.now() < untilMs);
}, PERIOD_MS);
process.send?.({ kind: "burning" });
