/** A number, or a duration such as 345ms or 1m30s. */
const NUMBER = "(?:\\d+(?:\\.\\d+)?(?:ms|[smh])?)+";

/**
 * What a page says that a terminal shows. Its lines follow each other there; `…` stands for anything within a line, and a line of
 * only `…` for any lines.
 */
export function matchOf(
  expected: string,
  { numbersVary = false }: { readonly numbersVary?: boolean } = {},
): RegExp {
  const lines = expected
    .trimEnd()
    .split("\n")
    .map((line) => {
      if (line.trim() === "…") return "(?:[^\\n]*\\n)*?";
      const text = line
        .trimEnd()
        .split("…")
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
        .join("[^\\n]*");
      return `${numbersVary ? text.replace(/(?:\d+(?:\\\.\d+)?(?:ms|[smh]\b)?)+/g, NUMBER) : text}[ \\t]*(?:\\n|$)`;
    });
  return new RegExp(`(?:^|\\n)${lines.join("")}`);
}
