/** What a bucket is made as, and which settings of one that others have made are not safe. */
import { InvalidRequestError } from "@tenure/core";

export interface StreamConfig {
  readonly name: string;
  readonly subjects?: readonly string[];
  readonly storage: string;
  readonly retention: string;
  readonly discard: string;
  readonly max_age: number;
  readonly max_msgs_per_subject: number;
  readonly num_replicas: number;
  readonly no_ack?: boolean;
  readonly sealed?: boolean;
  readonly mirror?: unknown;
  readonly sources?: unknown;
  readonly subject_transform?: unknown;
}

const DUPLICATE_WINDOW_NS = 120_000_000_000;
const UNLIMITED = -1;

/** As `nats kv add` and the client libraries make it (ADR-8), so that they can look into it. */
export function newStreamConfig(bucket: string, replicas: number): StreamConfig & Record<string, unknown> {
  return {
    name: `KV_${bucket}`,
    subjects: [`$KV.${bucket}.>`],
    storage: "file",
    retention: "limits",
    discard: "new",
    max_age: 0,
    max_msgs: UNLIMITED,
    max_bytes: UNLIMITED,
    max_msg_size: UNLIMITED,
    max_consumers: UNLIMITED,
    max_msgs_per_subject: 1,
    num_replicas: replicas,
    duplicate_window: DUPLICATE_WINDOW_NS,
    allow_rollup_hdrs: true,
    allow_direct: true,
    deny_delete: true,
    deny_purge: false,
  };
}

/** Refuses a stream that forgets, or that is not written to by us. More history than one value does no harm. */
export function checkStreamConfig(bucket: string, config: StreamConfig, replicas: number | undefined): void {
  const subject = `$KV.${bucket}.>`;
  const checks: readonly (readonly [isSafe: boolean, what: string])[] = [
    [config.storage === "file", `storage ${config.storage}, which a restart empties; must be file`],
    [config.max_age === 0, `max_age ${config.max_age} ns, after which entries vanish; must be 0`],
    [config.discard === "new", `discard ${config.discard}, which drops entries when it is full; must be new`],
    [
      config.retention === "limits",
      `retention ${config.retention}, which drops what was read; must be limits`,
    ],
    [config.no_ack !== true, "no_ack set, so that no write is ever acknowledged"],
    [config.sealed !== true, "sealed set, so that nothing can be written"],
    [isAbsent(config.mirror), "mirror set: it is a copy of another; name that one"],
    [isAbsent(config.sources), "sources set, so that others write into it"],
    [isAbsent(config.subject_transform), "subject_transform set, which renames the keys"],
    [
      config.subjects?.length === 1 && config.subjects[0] === subject,
      `subjects ${(config.subjects ?? []).join(", ")}; must be ${subject}`,
    ],
  ];
  const unsafe = checks.find(([isSafe]) => !isSafe);
  if (unsafe !== undefined) {
    throw new InvalidRequestError("bucket", `${bucket} has ${unsafe[1]}; change it, or name another bucket`);
  }
  if (replicas !== undefined && config.num_replicas !== replicas) {
    throw new InvalidRequestError(
      "replicas",
      `is ${replicas}, the bucket ${bucket} has num_replicas ${config.num_replicas}; change one of the two`,
    );
  }
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}
