import { InvalidTtlError } from "@tenure/core";
import { tellDuration } from "../frame/duration.js";
import { tellError, type ToldError } from "../frame/tell-error.js";

/** The campaign that was refused. */
export interface Refused {
  readonly groupId: string;
  readonly ttlMs: number;
}

/** An error as one sentence, with the value of the option where the error is about one. */
export function tellRefusal(error: unknown, { groupId, ttlMs }: Refused): ToldError {
  const told = tellError(error);
  if (!(error instanceof InvalidTtlError) || error.field !== "ttlMs") return told;
  const bounds = `${tellDuration(error.minTtlMs)} to ${tellDuration(error.maxTtlMs)}`;
  const message = `--ttl ${tellDuration(ttlMs)} is outside ${bounds}, which the policy of ${groupId} allows`;
  return { ...told, message };
}
