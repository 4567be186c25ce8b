/** The lines of the audit log and the acts that the store keeps (`GET /v1/audit`) say the same. */
import { afterEach, expect, it } from "vitest";
import { GrpcClient } from "../grpc/grpc.test-kit.js";
import { cleanUp, serveKnown } from "../http/service.test-kit.js";
import { auditedLog } from "./audit.test-kit.js";

afterEach(cleanUp);

interface Line {
  readonly act: string;
  readonly caller: { readonly name: string };
  readonly group_id: string;
  readonly details: { readonly reason?: string };
  readonly outcome: string;
}

interface Act {
  readonly act: string;
  readonly by: string;
  readonly group_id: string;
  readonly reason: string | null;
  readonly ts_ms: number;
}

it("every act of an admin that was carried out is stored as the audit log has it, and no other act is", async () => {
  const { log, lines } = auditedLog();
  const { service, bearer } = await serveKnown({ grpc: "127.0.0.1:0" }, { log });
  const token = await bearer({ sub: "ada", role: "admin" });
  const ada = service.as(token);
  const node = service.as(await bearer({ sub: "n1", role: "node", groups: ["*"] }));
  const grpc = new GrpcClient(service.server.grpcAddress ?? "", undefined, {
    authorization: `Bearer ${token}`,
  });
  const policy = { max_ttl_ms: 30_000 };

  await ada.post("/v1/groups", { group_id: "g", reason: "a new job" });
  await ada.post("/v1/groups", { group_id: "g" });
  await ada.ask("PATCH", "/v1/groups/g", { policy, reason: "shorter leases" });
  await node.post("/v1/groups/g/pause", { reason: "not mine to pause" });
  await ada.post("/v1/groups/g/pause", { for_ms: 5000, reason: "a deploy" });
  await grpc.call("Groups/Resume", { group_id: "g", reason: "deployed" });
  await node.campaign("g", "n1", { lease_ttl_ms: 20_000 });
  await ada.post("/v1/groups/g/transfer", { to_node_id: "nobody", reason: "it waits nowhere" });
  await grpc.call("Groups/StepDown", { group_id: "g", reason: "it is slow", force: true });
  await ada.post("/v1/groups/typo/pause", { reason: "no such group" });
  await ada.post("/v1/groups/other/pause", { create: true });
  await ada.ask("DELETE", "/v1/groups/g?force=true&reason=done");

  const acts = lines.filter(({ event }) => event === "admin-act") as unknown as readonly Line[];
  expect(acts.map(({ outcome }) => outcome)).toEqual([
    "done",
    "CONFLICT",
    "done",
    "UNAUTHORIZED",
    "done",
    "done",
    "CONFLICT",
    "done",
    "GROUP_NOT_FOUND",
    "done",
    "done",
  ]);
  const stored = ((await ada.get("/v1/audit")).body as { acts: readonly Act[] }).acts;
  const shown = (all: readonly object[]) => all.map((each) => JSON.stringify(each)).toSorted();
  expect(shown(stored.map(({ act, by, group_id, reason }) => ({ act, by, group_id, reason })))).toEqual(
    shown(
      acts
        .filter(({ outcome }) => outcome === "done")
        .map(({ act, caller, group_id, details }) => ({
          act: act.replace("-group", ""),
          by: caller.name,
          group_id,
          reason: details.reason ?? null,
        })),
    ),
  );
});
