import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface Target {
  /**
   * `ratio`: our figure divided by the reference's; `difference`: our figure minus the reference's; `ours`: only our
   * figure.
   */
  readonly of: 'ratio' | 'difference' | 'ours';
  readonly kind: 'at least' | 'at most';
  readonly value: number;
}

/** One line of the table. */
export interface Line {
  /** The id of the row, as given to `--only`. */
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

/** For rows whose figures vary much between rounds. */
export function roundsAtLeast({ quick, rounds }: Effort, minRounds: number): number {
  return quick ? rounds : Math.max(minRounds, rounds);
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
  readonly min: number;
  readonly max: number;
}

/** @param figures at least one */
export function computeSpread(figures: readonly number[]): Spread {
  return { median: quantile(figures, 0.5), min: Math.min(...figures), max: Math.max(...figures) };
}

/** Interpolates between neighboring figures. */
export function quantile(figures: readonly number[], fraction: number): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}

/** @returns one figure per round */
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

/** @returns undefined if the line has no target */
export function isMet(line: Line): boolean | undefined {
  if (line.target === undefined) return undefined;
  const { median } = computeSpread(targetFigures(line));
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
    const isOursFirst = round % 2 === 0;
    if (isOursFirst) measured.ours.push(await ours(round));
    measured.theirs.push(await theirs(round));
    if (!isOursFirst) measured.ours.push(await ours(round));
  }
  return measured;
}

/** `growthMb` is the largest growth of the heap at any sample. */
export function createHeapMeter() {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  let max = before;
  return {
    sample() {
      collectGarbage();
      max = Math.max(max, process.memoryUsage().heapUsed);
    },
    growthMb: () => (max - before) / 2 ** 20,
  };
}
