/**
 * Loaded before each test file. `TENURE_PROPERTY_RUNS=5000 npm test` tries every property that does not set its own
 * number that often; `TENURE_PROPERTY_SEED` repeats a run that failed.
 */
const runs = process.env.TENURE_PROPERTY_RUNS;
const seed = process.env.TENURE_PROPERTY_SEED;

if (runs !== undefined || seed !== undefined) {
  const { configureGlobal } = await import("fast-check");
  configureGlobal({
    ...(runs === undefined ? {} : { numRuns: wholeNumber("TENURE_PROPERTY_RUNS", runs) }),
    ...(seed === undefined ? {} : { seed: wholeNumber("TENURE_PROPERTY_SEED", seed) }),
  });
}

function wholeNumber(name, text) {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`${name} is "${text}", it must be a whole number`);
  return value;
}
