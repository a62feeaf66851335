import { type Bytes, toHex, utf8 } from './bytes.ts';
import { canonicalJson, isJsonObject } from './canonical-json.ts';
import type { Cryptography } from './cryptography.ts';
import { leafHash, treeHead } from './merkle.ts';
import { type Differences, describeNumbers, type Report, type TrustedInputs } from './report.ts';
import { type CheckedSeal, createSealCheck } from './seals.ts';
import type { EventLine, ForgottenBy, Header, Line, SealLine } from './shapes.ts';
import { checkSignedEvent, otherRoot, type Revocation, revocationOf } from './signatures.ts';

export interface FileCheck {
  line(line: Line, number: number): Promise<void>;
  end(): Promise<
    Omit<Report, 'verdict' | 'file' | 'key' | 'order' | 'differences'> & {
      /** Sentences about the file that may explain mismatches. */
      readonly explained?: readonly string[];
    }
  >;
}

/** The events in larger gaps aren't listed, because the number itself must be wrong. */
const MAX_GAP = 1_000_000;

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

/** Deleted events, by person. */
export function collectErasures() {
  const all = new Map<string, { count: number; by: string; from: string; to: string }>();
  return {
    add({ at, by }: ForgottenBy) {
      const previous = all.get(by) ?? { count: 0, by, from: at, to: at };
      const from = at < previous.from ? at : previous.from;
      all.set(by, { by, count: previous.count + 1, from, to: at > previous.to ? at : previous.to });
    },
    all: () => [...all.values()],
  };
}

/** The leaf hash of an event: of its canonical form, or the stored one if the event was deleted. */
export async function leafOf(cryptography: Cryptography, { content, leaf }: EventLine): Promise<Bytes> {
  if (leaf !== undefined) return leaf;
  return leafHash(cryptography, utf8(canonicalJson(content ?? null)));
}

/** Checks numbers that must increase by one, and finds missing and misplaced ones. */
function createSequence(what: string, differences: Differences) {
  const missing = new Set<number>();
  let first: number | undefined;
  let next: number | undefined;
  return {
    missing,
    /** @returns whether the number is new */
    take(n: number, where: string): boolean {
      first ??= n;
      next ??= n;
      if (n > next) {
        if (n - next > MAX_GAP)
          differences.add('changed', `${what} ${n} is numbered far beyond the one before it`);
        else for (const left of range(next, n - 1)) missing.add(left);
      } else if (n < next) {
        const isLate = missing.delete(n) || n < first;
        for (const left of range(n + 1, first - 1)) missing.add(left);
        first = Math.min(first, n);
        if (isLate) differences.add('reordered', `${what} ${n} stands after later ones${where}`);
        else differences.add('added', `${what} ${n} appears twice${where}`);
        return isLate;
      }
      missing.delete(n);
      next = n + 1;
      return true;
    },
    end() {
      if (missing.size > 0) differences.add('dropped', `${describeNumbers(what, missing)}: not in the file`);
    },
  };
}

/** Verifies a ledger, in which events are followed by their seal. */
export async function createLedgerCheck(
  header: Header,
  trusted: TrustedInputs,
  cryptography: Cryptography,
  differences: Differences,
): Promise<FileCheck> {
  const seals = await createSealCheck(header, trusted, cryptography, differences);
  const erasures = collectErasures();
  const events = createSequence('event', differences);
  const sealNumbers = createSequence('seal', differences);
  /** Leaf hashes of the events that have no seal so far. */
  const uncovered = new Map<number, Bytes>();
  let first: SealLine | undefined;
  let last: CheckedSeal | undefined;
  let lastAt = '';
  let count = 0;
  let sealCount = 0;
  let signatures = 0;
  /** Stored hashes of deleted events. */
  const deletedLeaves = new Map<number, string>();
  const recorded: RecordedDeletions = { ranges: [], leaves: new Set() };
  const revoked = new Map<string, Revocation>();
  const explained: string[] = [];

  async function event(line: EventLine, where: string): Promise<void> {
    if (!events.take(line.seq, where)) return;
    count += 1;
    if (line.forgotten !== undefined) {
      erasures.add(line.forgotten);
      deletedLeaves.set(line.seq, toHex(line.leaf ?? new Uint8Array()));
    }
    if (last !== undefined && line.seq <= last.to) {
      differences.add('reordered', `event ${line.seq} stands after the seal that covers it${where}`);
      return;
    }
    if (isRestoreRecord(line))
      explained.push(
        `Event ${line.seq} says that the database was put back from a backup (${line.content?.['at']}). Seals that had left before that moment, and are not in the backup, do not fit what follows: their numbers were given again.`,
      );
    const signed = await checkSignedEvent(line, cryptography);
    if (signed !== undefined) signatures += 1;
    for (const fault of signed?.wrong ?? [])
      differences.add('changed', `event ${line.seq}: its signature does not fit: ${fault}`);
    const strange = signed?.isOfOrder === true ? otherRoot(signed, trusted.roots) : undefined;
    if (strange !== undefined) differences.add('key', `event ${line.seq}: ${strange}`);
    for (const { key, text } of (signed?.keys ?? []).flatMap((each) => revoked.get(each) ?? []))
      differences.add('key', `event ${line.seq}: its signature rests on ${key}, which had been ${text}`);
    if (line.content?.['kind'] === 'events_forgotten') addRecordedDeletions(line, recorded);
    const revocation = revocationOf(line);
    if (revocation !== undefined && !revoked.has(revocation.key)) revoked.set(revocation.key, revocation);
    uncovered.set(line.seq, await leafOf(cryptography, line));
  }

  async function covered({ n, from, to, root }: SealLine): Promise<void> {
    const isHuge = to - from > MAX_GAP;
    const seqs = isHuge ? [] : range(from, to);
    const leaves = seqs.flatMap((seq) => uncovered.get(seq) ?? []);
    const isWhole = leaves.length === seqs.length && !isHuge;
    if (isHuge) differences.add('changed', `seal ${n} says that it covers ${to - from + 1} events`);
    for (const seq of seqs) if (!uncovered.delete(seq)) events.missing.add(seq);
    if (isWhole && toHex(await treeHead(cryptography, leaves)) !== root)
      differences.add('changed', `${describeNumbers('event', seqs)}: not what seal ${n} sealed`);
    const early = [...uncovered.keys()].filter((seq) => seq > to);
    if (early.length > 0)
      differences.add(
        'reordered',
        `${describeNumbers('event', early)}: before seal ${n}, which ends with event ${to}`,
      );
    const others = [...uncovered.keys()].filter((seq) => seq < from);
    if (others.length > 0)
      differences.add('added', `${describeNumbers('event', others)}: covered by no seal`);
    for (const seq of others) uncovered.delete(seq);
  }

  async function seal(line: SealLine, where: string): Promise<void> {
    if (!sealNumbers.take(line.n, where)) return;
    sealCount += 1;
    if (last !== undefined && last.n + 1 === line.n && line.from !== last.to + 1)
      differences.add(
        'changed',
        `seal ${line.n} begins with event ${line.from}, the one before ends with ${last.to}`,
      );
    if (line.n === 1 && line.from !== 1)
      differences.add('changed', `seal 1 begins with event ${line.from} and not with 1`);
    first ??= line;
    last = await seals.check(line, last);
    lastAt = line.at;
    await covered(line);
  }

  function compareEnds(): string[] {
    const unknown: string[] = [];
    if (first === undefined || last === undefined) {
      if (trusted.anchors.length === 0) return ['There is no seal in the file, so nothing in it is proved.'];
      differences.add(
        'cut',
        `${describeNumbers(
          'seal',
          trusted.anchors.map(({ n }) => n),
        )}: anchored, but there is no seal in the file`,
      );
      return unknown;
    }
    const start = first.n;
    const end = last.n;
    const numbers = trusted.anchors.map(({ n }) => n);
    const after = numbers.filter((n) => n > end);
    if (after.length > 0)
      differences.add(
        'cut',
        `the file ends with seal ${end}, but ${describeNumbers('seal', after)} was anchored: the end is missing`,
      );
    if (start === 1 || numbers.includes(start - 1)) return unknown;
    const before = numbers.filter((n) => n < start);
    if (before.length > 0)
      differences.add(
        'cut',
        `the file begins with seal ${start}, but ${describeNumbers('seal', before)} was anchored: the beginning is missing`,
      );
    else
      unknown.push(
        `The file begins with seal ${start}: only the anchor of seal ${start - 1} can show whether something was cut off before it (--anchor ${start - 1}:HEX).`,
      );
    return unknown;
  }

  return {
    async line(line, number) {
      const where = ` (line ${number})`;
      if (line.type === 'event') await event(line, where);
      else if (line.type === 'seal') await seal(line, where);
      else differences.add('added', `a line that no ledger has: ${line.type}${where}`);
    },
    async end() {
      if (uncovered.size > 0)
        differences.add(
          'cut',
          `${describeNumbers('event', uncovered.keys())}: no seal follows that covers it: the end was cut off, or it was added`,
        );
      events.end();
      sealNumbers.end();
      const unknown = [...compareEnds(), ...unrecordedDeletionsText(deletedLeaves, recorded)];
      const anchored = seals.anchored.at(-1);
      const found = { anchored, erasures: erasures.all(), unknown, notes: [], explained };
      if (first === undefined || last === undefined)
        return { ...found, events: undefined, seals: undefined, proved: [] };
      const span = { from: first.from, to: last.to, count };
      return {
        ...found,
        events: span,
        seals: { from: first.n, to: last.n, count: sealCount },
        proved: [
          `${count} events (${span.from} to ${span.to}) are all there, as they were sealed and in their sequence.`,
          `${sealCount} seals (${first.n} to ${last.n}), each chained to the one before, are signed by ${header.key}; the newest says ${lastAt}.`,
          ...(signatures === 0
            ? []
            : [
                `${signatures} signatures of passkeys are over what they stand beside${trusted.roots === undefined ? '' : ', those of approvals vouched for by the roots'}; a receipt says by whom.`,
              ]),
          ...(anchored === undefined
            ? []
            : [
                `Anchor ${anchored.seal} fits: what was sealed up to event ${anchored.to} stood so when that seal left, which says ${anchored.at}.`,
              ]),
        ],
      };
    },
  };
}

/** The deleted events that a later event lists: by number, or by hash if they weren't sealed when they were deleted. */
interface RecordedDeletions {
  readonly ranges: (readonly [number, number])[];
  readonly leaves: Set<string>;
}

function addRecordedDeletions({ content }: EventLine, recorded: RecordedDeletions): void {
  const { seqs, leaves } = isJsonObject(content?.['data']) ? content['data'] : {};
  for (const range of Array.isArray(seqs) ? seqs : []) {
    const [from, to] = Array.isArray(range) ? range : [];
    if (typeof from === 'number' && typeof to === 'number') recorded.ranges.push([from, to]);
  }
  for (const leaf of Array.isArray(leaves) ? leaves : [])
    if (typeof leaf === 'string') recorded.leaves.add(leaf);
}

function unrecordedDeletionsText(
  deletedLeaves: ReadonlyMap<number, string>,
  { ranges, leaves }: RecordedDeletions,
): string[] {
  const sorted = [...ranges].sort(([a], [b]) => a - b);
  let next = 0;
  let reached = 0;
  const unnamed: number[] = [];
  for (const [seq, leaf] of [...deletedLeaves].sort(([a], [b]) => a - b)) {
    for (; (sorted[next]?.[0] ?? Number.POSITIVE_INFINITY) <= seq; next += 1)
      reached = Math.max(reached, sorted[next]?.[1] ?? 0);
    if (seq > reached && !leaves.has(leaf)) unnamed.push(seq);
  }
  if (unnamed.length === 0) return [];
  return [
    `${describeNumbers('event', unnamed)}: without content, and no event in the file records its deletion. Either a later event does (export a newer file), or someone blanked it.`,
  ];
}

/** Whether the event is the bot's record that the database was restored from an earlier state. */
function isRestoreRecord({ content }: EventLine): boolean {
  if (content?.['kind'] === 'database_restored') return true;
  const { differences } = isJsonObject(content?.['data']) ? content['data'] : {};
  return (
    content?.['kind'] === 'ledger_differs' &&
    Array.isArray(differences) &&
    differences.some((each) => isJsonObject(each) && each['code'] === 'rolled_back')
  );
}
