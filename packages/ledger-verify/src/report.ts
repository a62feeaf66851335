/**
 * Content was changed, dropped, reordered or added, the beginning or end is missing (`cut`), or the file was signed
 * with a different key.
 */
export type DifferenceCode = 'changed' | 'dropped' | 'reordered' | 'added' | 'cut' | 'key';

export interface Difference {
  readonly code: DifferenceCode;
  readonly text: string;
}

export interface Report {
  readonly verdict: 'proved' | 'differs' | 'cannot_tell';
  readonly file: 'ledger' | 'receipt' | undefined;
  /** Fingerprint of the key that signed the file, according to the file. */
  readonly key: string | undefined;
  readonly order: string | undefined;
  readonly events: { readonly from: number; readonly to: number; readonly count: number } | undefined;
  readonly seals: { readonly from: number; readonly to: number; readonly count: number } | undefined;
  /** The newest anchor that matches. */
  readonly anchored: { readonly seal: number; readonly to: number; readonly at: string } | undefined;
  readonly erasures: readonly {
    readonly count: number;
    readonly by: string;
    readonly from: string;
    readonly to: string;
  }[];
  /** Sentences about what was verified, and how. */
  readonly proved: readonly string[];
  readonly differences: readonly Difference[];
  /** Sentences about why a check wasn't possible, and what would make it possible. */
  readonly unknown: readonly string[];
  /** Sentences about what isn't verified even if everything matches. */
  readonly notes: readonly string[];
}

/** The number of a seal, and the hex hash of its canonical form. */
export interface Anchor {
  readonly n: number;
  readonly hash: string;
}

export interface TrustedInputs {
  /** Fingerprint of the key that must have signed the file. */
  readonly key: string | undefined;
  readonly anchors: readonly Anchor[];
  /** Fingerprints of the passkeys that are the roots of trust. */
  readonly roots: readonly string[] | undefined;
}

export interface DifferenceCollector {
  add(code: DifferenceCode, text: string): void;
  readonly all: readonly Difference[];
}

/** Limits memory use if nothing in a file matches. */
const MAX_DIFFERENCES = 1_000;

export function createDifferenceCollector(): DifferenceCollector {
  const all: Difference[] = [];
  return {
    all,
    add(code, text) {
      if (all.length < MAX_DIFFERENCES) all.push({ code, text });
    },
  };
}

/** `3, 5 to 9` */
function formatRanges(numbers: Iterable<number>): string {
  const ranges: [number, number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && number === last[1] + 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`)).join(', ');
}

/** `event 3`, `events 3, 5 to 9` */
export function describeNumbers(noun: string, numbers: Iterable<number>): string {
  const numberList = [...numbers];
  return `${noun}${numberList.length === 1 ? '' : 's'} ${formatRanges(numberList)}`;
}

const CODE_LABELS: Readonly<Record<DifferenceCode, string>> = {
  changed: 'CHANGED',
  dropped: 'DROPPED',
  reordered: 'REORDERED',
  added: 'ADDED',
  cut: 'CUT',
  key: 'WRONG KEY',
};
const VERDICT_LABELS: Readonly<Record<Report['verdict'], string>> = {
  proved: 'PROVED',
  differs: 'NOT PROVED: something doesn’t match',
  cannot_tell: 'CANNOT TELL',
};
/** Only the first differences are shown, because a single change can cause many. */
const MAX_SHOWN_DIFFERENCES = 20;

export function formatReport({ verdict, proved, differences, unknown, notes }: Report): string[] {
  const hiddenCount = differences.length - MAX_SHOWN_DIFFERENCES;
  const outputLines = [
    VERDICT_LABELS[verdict],
    ...differences
      .slice(0, MAX_SHOWN_DIFFERENCES)
      .map(({ code, text }) => `  ✗ ${CODE_LABELS[code]}: ${text}`),
    ...(hiddenCount > 0 ? [`  … and ${hiddenCount} more`] : []),
    ...unknown.map((text) => `  ? ${text}`),
    ...proved.map((text) => `  ✓ ${text}`),
    ...notes.map((text) => `  - ${text}`),
  ];
  // Text from the file must not start a new line or move the cursor.
  return outputLines.map((text) => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '\uFFFD'));
}
