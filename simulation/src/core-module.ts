/** The code under test, as a value: the built packages, or copies of them in which one rule is switched off. */
export interface CoreModule {
  readonly core: typeof import("@tenure/core");
  readonly testing: typeof import("@tenure/core/testing");
  /** Over this very core. */
  readonly client: typeof import("@tenure/client");
}

export async function loadCore(): Promise<CoreModule> {
  return {
    core: await import("@tenure/core"),
    testing: await import("@tenure/core/testing"),
    client: await import("@tenure/client"),
  };
}
