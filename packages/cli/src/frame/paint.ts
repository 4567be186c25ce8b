export type Colour = "red" | "green" | "yellow" | "cyan" | "bold" | "dim" | "inverse";

const CODES: Readonly<Record<Colour, readonly [number, number]>> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
  bold: [1, 22],
  dim: [2, 22],
  inverse: [7, 27],
};

export type Paint = (colour: Colour, text: string) => string;

/** Colours are for terminals whose user has not said otherwise (https://no-color.org). */
export function paintFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const isWanted = isTerminal && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  if (!isWanted) return (_, text) => text;
  return (colour, text) => {
    const [on, off] = CODES[colour];
    return `\u001B[${on}m${text}\u001B[${off}m`;
  };
}
