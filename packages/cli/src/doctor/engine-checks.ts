/** Checks the engine behind a store's URL directly, by reads only. */
import type { Finding } from "./finding.js";
import { note, wrong } from "./finding.js";

export interface EngineCheckOptions {
  readonly natsMonitors: readonly string[] | null;
  readonly nowMs: number;
}

export async function checkEngine(
  url: string,
  { natsMonitors, nowMs }: EngineCheckOptions,
): Promise<Finding[]> {
  const scheme = url.slice(0, url.indexOf(":")).toLowerCase();
  switch (scheme) {
    case "memory":
      return [
        wrong(
          "memory store",
          "loses every term when its process exits",
          "use embedded:DIR, or a server's own store",
        ),
      ];
    case "embedded": {
      const { checkEmbedded } = await import("./engines/embedded-checks.js");
      return checkEmbedded(url.slice("embedded:".length).replace(/^\/\/(?=\/|\.)/, ""));
    }
    case "etcd": {
      const { parseEtcdUrl } = await import("@tenure/stores/etcd");
      const { checkEtcd } = await import("./engines/etcd-checks.js");
      return checkEtcd(parseEtcdUrl(url), nowMs);
    }
    case "nats": {
      const { parseNatsUrl } = await import("@tenure/stores/nats");
      const { checkNats } = await import("./engines/nats-checks.js");
      return checkNats(parseNatsUrl(url), natsMonitors, nowMs);
    }
    case "postgres":
    case "postgresql": {
      const { parsePostgresUrl } = await import("@tenure/stores/postgres");
      const { checkPostgres } = await import("./engines/postgres-checks.js");
      return checkPostgres(parsePostgresUrl(url), nowMs);
    }
    case "zookeeper": {
      const { parseZookeeperUrl } = await import("@tenure/stores/zookeeper");
      const { checkZookeeper } = await import("./engines/zookeeper-checks.js");
      return checkZookeeper(parseZookeeperUrl(url));
    }
    default:
      return [note("engine", `doctor cannot check ${scheme}`)];
  }
}
