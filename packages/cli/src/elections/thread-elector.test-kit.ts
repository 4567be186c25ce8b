/** Electors for the renewing thread, opened there by a module's URL. It runs the build: `tsc -b` comes first. */
import { HttpElector } from "@tenure/client";
import type { Elector } from "@tenure/core";

/** The URL of this module for the thread. */
export const THREAD_ELECTOR: string = new URL(
  "../../dist/elections/thread-elector.test-kit.js",
  import.meta.url,
).href;

export function openElector(endpoint: string): Promise<Elector> {
  return HttpElector.open({ endpoints: [endpoint] });
}

/** The thread ends in the middle of its third renewal. */
export async function openMortalElector(endpoint: string): Promise<Elector> {
  const elector = await HttpElector.open({ endpoints: [endpoint] });
  let renewals = 0;
  const renew = elector.renew.bind(elector);
  elector.renew = (request, options) => {
    renewals += 1;
    if (renewals === 3) process.exit(7);
    return renew(request, options);
  };
  return elector;
}

export function openNone(): never {
  throw new Error("there is no elector to be had");
}
