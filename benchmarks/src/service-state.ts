/** What a service that is measured tells of itself. */
export type ServiceQuestion = "state" | "state after gc";
export interface ServiceAnswer {
  readonly port: number;
  /** Of the whole process, in user and system mode. */
  readonly cpuMs: number;
  readonly rssBytes: number;
  readonly heapBytes: number;
}

export function stateOf(url: string, question: ServiceQuestion): ServiceAnswer {
  const { gc } = globalThis as { gc?: () => void };
  if (question === "state after gc") {
    if (gc === undefined) throw new Error("start it with --expose-gc");
    for (let i = 0; i < 4; i++) gc();
  }
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    port: Number(new URL(url).port),
    cpuMs: (user + system) / 1000,
    rssBytes: rss,
    heapBytes: heapUsed,
  };
}
