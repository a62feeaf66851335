/** A round number not below the largest value, and the distance between grid lines. */
export function scaleFor(largest: number): { top: number; step: number } {
  if (largest <= 4) return { top: Math.max(1, Math.ceil(largest)), step: 1 };
  const size = 10 ** Math.floor(Math.log10(largest / 2));
  const step =
    [1, 2, 5, 10].map((factor) => factor * size).find((candidate) => largest / candidate <= 5) ?? size;
  return { top: Math.ceil(largest / step) * step, step };
}
