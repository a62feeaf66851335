/** Levenshtein distance; infinite if `a` is long. */
export function computeEditDistance(a: string, b: string): number {
  if (a.length > 40) return Number.POSITIVE_INFINITY;
  let previousRow = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitutionCost = (previousRow[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substitutionCost, (previousRow[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previousRow = row;
  }
  return previousRow[b.length] ?? 0;
}
