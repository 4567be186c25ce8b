/** A program with many roles as a separate process: it reports what it leads, and ends when asked to. */
import { HttpElector } from "@tenure/client";
import { RoleManager } from "@tenure/client/roles";
import { systemClock } from "@tenure/core";

export interface RoleProcessOptions {
  readonly url: string;
  readonly nodeId: string;
  readonly ttlMs: number;
  readonly roles: number;
}

export type RoleProcessMessage =
  | { readonly kind: "promoted" | "demoted"; readonly role: string }
  /** The number of successful renewals so far. */
  | { readonly kind: "renewals"; readonly count: number };

const TELL_MS = 5;
let untold: RoleProcessMessage[] = [];

/** Events come in bursts, and reporting each separately would cost as much as the event. */
function tell(message: RoleProcessMessage): void {
  if (untold.length === 0) {
    systemClock.after(TELL_MS, () => {
      process.send?.(untold);
      untold = [];
    });
  }
  untold.push(message);
}

async function main({ url, nodeId, ttlMs, roles }: RoleProcessOptions): Promise<void> {
  let renewals = 0;
  const elector = await HttpElector.open({ endpoints: [url] });
  const none = () => {};
  const manager = new RoleManager(elector, {
    nodeId,
    ttlMs,
    spread: { group: "team", maxMembers: 8 },
    metrics: {
      isLeader: none,
      connectionStatus: none,
      transition: none,
      failure: none,
      acquireAttempt: none,
      tokenValidationFailure: none,
      leaderDuration: none,
      workOverdue: none,
      heartbeat: (_, outcome) => {
        if (outcome === "renewed") renewals += 1;
      },
    },
  });
  for (let index = 0; index < roles; index++) manager.add(`role-${index}`);
  manager.onRolePromote((role) => tell({ kind: "promoted", role }));
  manager.onRoleDemote((role) => tell({ kind: "demoted", role }));
  process.on("message", (wish) => {
    if (wish === "renewals") tell({ kind: "renewals", count: renewals });
    if (wish === "stop")
      void manager
        .stop()
        .then(() => elector.close())
        // After what is still to be reported.
        .then(() => systemClock.after(2 * TELL_MS, () => process.disconnect()));
  });
  await manager.start();
}

await main(JSON.parse(process.argv[2] ?? "{}") as RoleProcessOptions);
