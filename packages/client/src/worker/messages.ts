/** Messages between the thread that acts and the thread that renews. Plain data, because it is copied. */
import type { LeaseAnswer, RenewRequest, RenewResult } from "@tenure/core";
import type { ParsedRetry } from "../election/options.js";

export interface LeadOrder {
  readonly memory: SharedArrayBuffer;
  readonly renewal: RenewRequest;
  /** In the machine's time. */
  readonly won: LeaseAnswer;
  readonly heartbeatIntervalMs: number;
  readonly timeoutMs: number;
  readonly retry: ParsedRetry;
  readonly driftRatio: number;
  readonly stallLimitMs: number;
}

export type ToThread =
  | { readonly kind: "lead"; readonly id: number; readonly order: LeadOrder }
  | { readonly kind: "stop"; readonly id: number }
  | { readonly kind: "close" };

/** About one term. */
export type TermMessage =
  | {
      readonly kind: "renewed";
      readonly id: number;
      readonly answer: Extract<RenewResult, { kind: "renewed" }>;
      readonly seconds: number;
    }
  | { readonly kind: "not-leader"; readonly id: number }
  /** The lease of this term can no longer be renewed. */
  | { readonly kind: "broken"; readonly id: number; readonly message: string }
  | {
      readonly kind: "failed";
      readonly id: number;
      readonly code: string;
      readonly message: string;
      readonly seconds: number;
      readonly repeated: boolean;
    };

/** `opened`: the thread has its elector. */
export type FromThread = TermMessage | { readonly kind: "opened" };
