/* Building blocks of the table: both sides are measured alternately, in several rounds, with targets. */

export interface Target {
  /**
   * `ratio` is ours divided by the reference's, `difference` is ours minus the reference's, `ours` is ours
   * alone.
   */
  readonly of: 'ratio' | 'difference' | 'ours';
  readonly kind: 'at least' | 'at most';
  readonly value: number;
}

/** One line of the table. */
export interface Line {
  /** Its row in the table of targets, as given to `--only`. */
  readonly row: string;
  readonly what: string;
  readonly reference: string;
  readonly unit: string;
  /** One figure per round, matching `theirs`. */
  readonly ours: readonly number[];
  /** Empty if the row has no reference. */
  readonly theirs: readonly number[];
  readonly target?: Target;
}

export interface Effort {
  readonly quick: boolean;
  readonly rounds: number;
}

/** The rounds of a row with figures that vary much. */
export function roundsAtLeast({ quick, rounds }: Effort, least: number): number {
  return quick ? rounds : Math.max(least, rounds);
}

/** Called with the current activity. */
export type Progress = (what: string) => void;

export interface Bench {
  readonly effort: Effort;
  readonly progress: Progress;
}

/** A row of the table: measures and yields its lines. */
export interface Row {
  readonly id: string;
  /** The approximate duration in seconds. */
  readonly seconds: number;
  measure(bench: Bench): AsyncIterable<Line>;
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** @param figures at least one */
export function spreadOf(figures: readonly number[]): Spread {
  return { median: quantile(figures, 0.5), least: Math.min(...figures), most: Math.max(...figures) };
}

/** The quantile of some figures, interpolated between neighbours. */
export function quantile(figures: readonly number[], part: number): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

/** The figures that the target applies to, one per round. */
export function targetFigures({ ours, theirs, target }: Line): readonly number[] {
  switch (target?.of ?? (theirs.length === 0 ? 'ours' : 'ratio')) {
    case 'ratio':
      return ours.map((figure, round) => figure / (theirs[round] ?? Number.NaN));
    case 'difference':
      return ours.map((figure, round) => figure - (theirs[round] ?? Number.NaN));
    case 'ours':
      return ours;
  }
}

/** Whether the median reaches the target; undefined without one. */
export function isMet(line: Line): boolean | undefined {
  if (line.target === undefined) return undefined;
  const { median } = spreadOf(targetFigures(line));
  return line.target.kind === 'at least' ? median >= line.target.value : median <= line.target.value;
}

/** Measures both sides alternately: A B, B A, A B …, so that neither always comes first. */
export async function measureAlternately<T>(
  rounds: number,
  ours: (round: number) => Promise<T>,
  theirs: (round: number) => Promise<T>,
): Promise<{ readonly ours: readonly T[]; readonly theirs: readonly T[] }> {
  const measured: { ours: T[]; theirs: T[] } = { ours: [], theirs: [] };
  for (let round = 0; round < rounds; round += 1) {
    const oursFirst = round % 2 === 0;
    if (oursFirst) measured.ours.push(await ours(round));
    measured.theirs.push(await theirs(round));
    if (!oursFirst) measured.ours.push(await ours(round));
  }
  return measured;
}
