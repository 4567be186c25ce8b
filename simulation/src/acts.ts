/** An operator's act as a value: carried out at a server, and judged by checkers when it is answered. */
import type {
  DeleteRequest,
  ElectorAdmin,
  GroupInput,
  Leader,
  PauseRequest,
  ResumeRequest,
  StepDownRequest,
  TransferRequest,
} from "@tenure/core";

export type Act =
  | { readonly verb: "create" | "update"; readonly request: GroupInput }
  | { readonly verb: "delete"; readonly request: DeleteRequest }
  | { readonly verb: "step-down"; readonly request: StepDownRequest }
  | { readonly verb: "transfer"; readonly request: TransferRequest }
  | { readonly verb: "pause"; readonly request: PauseRequest }
  | { readonly verb: "resume"; readonly request: ResumeRequest };

/** Resolves with the new leader of a transfer, with `null` for all others. */
export async function perform(admin: ElectorAdmin, { verb, request }: Act): Promise<Leader | null> {
  switch (verb) {
    case "create":
      await admin.createGroup(request);
      return null;
    case "update":
      await admin.updateGroup(request);
      return null;
    case "delete":
      await admin.deleteGroup(request);
      return null;
    case "step-down":
      await admin.stepDown(request);
      return null;
    case "transfer":
      return admin.transfer(request);
    case "pause":
      await admin.pause(request);
      return null;
    case "resume":
      await admin.resume(request);
      return null;
  }
}

/** The act as one arrival of its request asks for it: where the act names its operator, that name identifies this arrival. */
export function asked(act: Act, arrival: number): Act {
  const { request } = act;
  return "by" in request ? { ...act, request: { ...request, by: `${arrival}-${request.by}` } } : act;
}
