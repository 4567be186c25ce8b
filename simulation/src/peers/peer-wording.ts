/** How the scenarios of peers word what a node stores, refuses and reports. */
import type { Configuration, PeerDisk, PeerEvent } from "@tenure/peers/protocol";

type Change = Parameters<PeerDisk["write"]>[0];

/** `a,b,c`: as scenarios write names. */
export function wordNames(names: readonly string[]): string {
  return names.toSorted().join(",");
}

function wordConfig({ epoch, members }: Configuration): string {
  return `[${epoch.term}, ${epoch.n}] of ${wordNames(Object.keys(members))}`;
}

export function wordStored(name: string, { vote, config }: Change): string {
  return [
    vote === undefined ? [] : `${name} stores a vote for ${vote.holderId} in term ${vote.term}`,
    config === undefined ? [] : `${name} stores the electorate ${wordConfig(config)}`,
  ]
    .flat()
    .join("; ");
}

/** What was refused, by `call` as the network names it: `a>b acquire`. `null` of what was granted. */
export function wordVerdict(call: string, answer: object): string | null {
  if (!("refusal" in answer)) return null;
  const [, from, to, verb] = /^(\S+)>(\S+) (\S+)$/.exec(call) ?? [];
  const asked = verb === "acquire" ? "to vote for" : "a renewal of";
  return `${to} refuses ${asked} ${from}: ${String(answer.refusal)}`;
}

/** `null` of what follows from another line: a node knows the electorate that it stores, and sees itself lead. */
export function wordEvent(name: string, event: PeerEvent): string | null {
  switch (event.kind) {
    case "elected":
      return `${name} leads term ${event.term}`;
    case "lost":
      return `${name} no longer leads term ${event.term}: ${event.cause}`;
    case "observed": {
      const { leader, released } = event;
      if (leader?.leaderId === name) return null;
      if (leader !== null) return `${name} sees ${leader.leaderId} lead term ${leader.term}`;
      return `${name} sees no leader${released ? ", the term was released" : ""}`;
    }
    case "waiting":
      return `${name} waits: ${event.why}`;
    case "founded":
      return `${name} founds the cluster ${event.config.cluster}`;
    case "electorate":
      return null;
    case "not-standing":
      return event.why.reason === "not-asked" ? null : `${name} does not campaign: ${event.why.reason}`;
    case "held-back":
      return event.why === null
        ? `${name}: the change of the electorate is no longer held back`
        : `${name}: the change of the electorate is held back: ${event.why.reason}`;
    case "other-cluster":
      return `${name} meets ${event.identity} of another cluster`;
  }
}
