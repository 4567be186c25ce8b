/** `host:port` of each server that a store's URL names. */
export function serversOf(url: string): [string, ...string[]] {
  const servers = /^\w+:\/\/(?:[^@/]*@)?([^/?]+)/.exec(url)?.[1]?.split(",") ?? [];
  const [first, ...others] = servers;
  if (first === undefined) throw new Error(`${url} names no server`);
  return [first, ...others];
}
