/** Runs in the page: texts whose contrast to their background is too low to read (WCAG AA). */
export function faintTexts(): string[] {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (canvas === null) return ["no canvas"];
  const rgbaOf = (colour: string): readonly number[] => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour: string): number => {
    const [r = 0, g = 0, b = 0] = rgbaOf(colour).map((each) => {
      const share = each / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const groundOf = (element: Element | null): string => {
    for (let each = element; each !== null; each = each.parentElement) {
      const bar = each.classList.contains("term") ? each.querySelector(":scope > rect") : null;
      const colour = bar === null ? getComputedStyle(each).backgroundColor : getComputedStyle(bar).fill;
      if ((rgbaOf(colour)[3] ?? 0) === 255) return colour;
    }
    return "white";
  };
  const found: string[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent?.trim() ?? "";
    if (
      element === null ||
      text === "" ||
      element.closest("noscript, title, :disabled, .hidden, .skip") !== null
    )
      continue;
    const style = getComputedStyle(element);
    const isDrawn = element instanceof SVGElement;
    const [a, b] = [light(isDrawn ? style.fill : style.color), light(groundOf(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${text.slice(0, 30)} (${element.tagName}): ${ratio.toFixed(2)}`);
  }
  return [...new Set(found)];
}
