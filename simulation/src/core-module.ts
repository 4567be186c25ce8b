/** The code under test, as a value: the built packages, or copies of them in which one rule is switched off. */
import type { Copies } from "./harness/mutant-loader.js";

export interface CoreModule {
  readonly core: typeof import("@tenure/core");
  readonly internal: typeof import("@tenure/core/internal");
  readonly testing: typeof import("@tenure/core/testing");
  /** Over this very core. */
  readonly client: typeof import("@tenure/client");
  readonly clientParts: typeof import("@tenure/client/parts");
  /** How the service formats its answers. */
  readonly server: typeof import("@tenure/server/parts");
}

export async function loadCore(): Promise<CoreModule> {
  return {
    core: await import("@tenure/core"),
    internal: await import("@tenure/core/internal"),
    testing: await import("@tenure/core/testing"),
    client: await import("@tenure/client"),
    clientParts: await import("@tenure/client/parts"),
    server: await import("@tenure/server/parts"),
  };
}

/** The client in the copy runs over the core in the copy. */
export const CORE_COPIES: Copies<CoreModule> = {
  packages: ["core", "api", "client", "server"],
  modules: {
    core: "@tenure/core",
    internal: "@tenure/core/internal",
    testing: "@tenure/core/testing",
    client: "@tenure/client",
    clientParts: "@tenure/client/parts",
    server: "@tenure/server/parts",
  },
};
