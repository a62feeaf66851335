/** The top of a chart's scale, at least the largest value, and the distance between grid lines. */
export function chooseScale(largestValue: number): { top: number; step: number } {
  if (largestValue <= 4) return { top: Math.max(1, Math.ceil(largestValue)), step: 1 };
  const magnitude = 10 ** Math.floor(Math.log10(largestValue / 2));
  const step =
    [1, 2, 5, 10].map((factor) => factor * magnitude).find((candidate) => largestValue / candidate <= 5) ??
    magnitude;
  return { top: Math.ceil(largestValue / step) * step, step };
}
