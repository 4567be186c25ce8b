/** The code under test, as a value: the built package, or a copy of it in which one rule is switched off. */
export interface CoreModule {
  readonly core: typeof import("@tenure/core");
  readonly testing: typeof import("@tenure/core/testing");
}

export async function loadCore(): Promise<CoreModule> {
  return { core: await import("@tenure/core"), testing: await import("@tenure/core/testing") };
}
