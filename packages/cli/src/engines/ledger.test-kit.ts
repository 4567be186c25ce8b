/** A period in which a node rightly believed that it leads: from the answer to its deadline. */
export interface Tenure {
  readonly groupId: string;
  readonly nodeId: string;
  readonly term: number;
  readonly fromMs: number;
  untilMs: number;
}

/** The answers that clients got, checked as a whole. All times are of one clock. */
export class Ledger {
  readonly #tenures = new Map<string, Tenure[]>();
  renewals = 0;

  won(groupId: string, nodeId: string, term: number, fromMs: number, untilMs: number): Tenure {
    const tenure = { groupId, nodeId, term, fromMs, untilMs };
    const known = this.#tenures.get(groupId);
    if (known === undefined) this.#tenures.set(groupId, [tenure]);
    else known.push(tenure);
    return tenure;
  }

  get wins(): number {
    return [...this.#tenures.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** The violations, one sentence each. */
  violations(): string[] {
    return [...this.#tenures.values()].flatMap((tenures) => judge(tenures));
  }
}

function judge(tenures: readonly Tenure[]): string[] {
  const found: string[] = [];
  const inOrder = tenures.toSorted((x, y) => x.fromMs - y.fromMs);
  for (const [index, later] of inOrder.entries()) {
    for (const earlier of inOrder.slice(0, index)) {
      const pair = `${tell(earlier)} and ${tell(later)}`;
      const isSame = earlier.nodeId === later.nodeId;
      if (earlier.term === later.term && !isSame) found.push(`one term, two holders: ${pair}`);
      if (earlier.term > later.term) found.push(`the term went back: ${pair}`);
      if (!isSame && earlier.untilMs > later.fromMs) found.push(`two inside their deadlines: ${pair}`);
    }
  }
  return found;
}

function tell({ groupId, nodeId, term, fromMs, untilMs }: Tenure): string {
  return `${groupId}/${nodeId} in term ${term} from ${fromMs.toFixed(1)} to ${untilMs.toFixed(1)}`;
}
