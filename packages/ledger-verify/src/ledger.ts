import { type Bytes, toHex, utf8 } from './bytes.ts';
import { canonicalJson, isJsonObject, objectOf } from './canonical-json.ts';
import type { Cryptography } from './cryptography.ts';
import { leafHash, treeHead } from './merkle.ts';
import { type Differences, describeNumbers, type Report, type TrustedInputs } from './report.ts';
import { type CheckedSeal, createSealCheck } from './seals.ts';
import type { Erasure, EventLine, Header, Line, SealLine } from './shapes.ts';
import { checkSignedEvent, describeUnknownRoot, type Revocation, readRevocation } from './signatures.ts';

export interface FileCheck {
  checkLine(line: Line, number: number): Promise<void>;
  finish(): Promise<
    Omit<Report, 'verdict' | 'file' | 'key' | 'order' | 'differences'> & {
      /** Sentences about the file that may explain mismatches. */
      readonly explanations?: readonly string[];
    }
  >;
}

/** A larger gap isn't reported as missing events, because the number itself must be wrong. */
const MAX_GAP = 1_000_000;

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

/** Deleted events, by person. */
export function createErasureCollector() {
  const erasures = new Map<string, { count: number; by: string; from: string; to: string }>();
  return {
    add({ at, by }: Erasure) {
      const previous = erasures.get(by) ?? { count: 0, by, from: at, to: at };
      const from = at < previous.from ? at : previous.from;
      erasures.set(by, { by, count: previous.count + 1, from, to: at > previous.to ? at : previous.to });
    },
    all: () => [...erasures.values()],
  };
}

/** If the event was deleted, the stored leaf hash is used. */
export async function computeEventLeaf(
  cryptography: Cryptography,
  { content, leaf }: EventLine,
): Promise<Bytes> {
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
    accept(n: number, where: string): boolean {
      first ??= n;
      next ??= n;
      if (n > next) {
        if (n - next > MAX_GAP)
          differences.add('changed', `${what} ${n}: the number is far higher than the previous one`);
        else for (const number of range(next, n - 1)) missing.add(number);
      } else if (n < next) {
        const isLate = missing.delete(n) || n < first;
        for (const number of range(n + 1, first - 1)) missing.add(number);
        first = Math.min(first, n);
        if (isLate) differences.add('reordered', `${what} ${n} comes after a later one${where}`);
        else differences.add('added', `${what} ${n} appears twice${where}`);
        return isLate;
      }
      missing.delete(n);
      next = n + 1;
      return true;
    },
    reportMissing() {
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
  const sealCheck = await createSealCheck(header, trusted, cryptography, differences);
  const erasures = createErasureCollector();
  const eventSequence = createSequence('event', differences);
  const sealSequence = createSequence('seal', differences);
  /** Leaf hashes of the events that no seal covers so far. */
  const uncovered = new Map<number, Bytes>();
  let firstSeal: SealLine | undefined;
  let lastSeal: CheckedSeal | undefined;
  let lastSealAt = '';
  let eventCount = 0;
  let sealCount = 0;
  let signatureCount = 0;
  /** Stored hashes of deleted events. */
  const deletedLeaves = new Map<number, string>();
  const recorded: RecordedDeletions = { ranges: [], leaves: new Set() };
  const revoked = new Map<string, Revocation>();
  const explanations: string[] = [];

  async function checkEvent(line: EventLine, where: string): Promise<void> {
    if (!eventSequence.accept(line.seq, where)) return;
    eventCount += 1;
    if (line.erasure !== undefined) {
      erasures.add(line.erasure);
      deletedLeaves.set(line.seq, toHex(line.leaf ?? new Uint8Array()));
    }
    if (lastSeal !== undefined && line.seq <= lastSeal.to) {
      differences.add('reordered', `event ${line.seq} comes after the seal that covers it${where}`);
      return;
    }
    if (isRestoreRecord(line))
      explanations.push(
        `Event ${line.seq} says that the database was put back from a backup (${line.content?.['at']}). Seals that were published before the restore but aren’t in the backup don’t match what follows, because their numbers were reused.`,
      );
    const signedEvent = await checkSignedEvent(line, cryptography);
    if (signedEvent !== undefined) signatureCount += 1;
    for (const fault of signedEvent?.faults ?? [])
      differences.add('changed', `event ${line.seq}: its signature does not fit: ${fault}`);
    const rootFault =
      signedEvent?.isAboutOrder === true ? describeUnknownRoot(signedEvent, trusted.roots) : undefined;
    if (rootFault !== undefined) differences.add('key', `event ${line.seq}: ${rootFault}`);
    for (const { key, text } of (signedEvent?.keys ?? []).flatMap(
      (signingKey) => revoked.get(signingKey) ?? [],
    ))
      differences.add('key', `event ${line.seq}: its signature rests on ${key}, which had been ${text}`);
    if (line.content?.['kind'] === 'events_forgotten') collectRecordedDeletions(line, recorded);
    const revocation = readRevocation(line);
    if (revocation !== undefined && !revoked.has(revocation.key)) revoked.set(revocation.key, revocation);
    uncovered.set(line.seq, await computeEventLeaf(cryptography, line));
  }

  async function checkCoverage({ n, from, to, root }: SealLine): Promise<void> {
    const isHuge = to - from > MAX_GAP;
    const seqs = isHuge ? [] : range(from, to);
    const leaves = seqs.flatMap((seq) => uncovered.get(seq) ?? []);
    const isComplete = leaves.length === seqs.length && !isHuge;
    if (isHuge) differences.add('changed', `seal ${n} says that it covers ${to - from + 1} events`);
    for (const seq of seqs) if (!uncovered.delete(seq)) eventSequence.missing.add(seq);
    if (isComplete && toHex(await treeHead(cryptography, leaves)) !== root)
      differences.add('changed', `${describeNumbers('event', seqs)}: not what seal ${n} sealed`);
    const earlyEvents = [...uncovered.keys()].filter((seq) => seq > to);
    if (earlyEvents.length > 0)
      differences.add(
        'reordered',
        `${describeNumbers('event', earlyEvents)}: before seal ${n}, which ends with event ${to}`,
      );
    const uncoveredEvents = [...uncovered.keys()].filter((seq) => seq < from);
    if (uncoveredEvents.length > 0)
      differences.add('added', `${describeNumbers('event', uncoveredEvents)}: covered by no seal`);
    for (const seq of uncoveredEvents) uncovered.delete(seq);
  }

  async function checkSeal(line: SealLine, where: string): Promise<void> {
    if (!sealSequence.accept(line.n, where)) return;
    sealCount += 1;
    if (lastSeal !== undefined && lastSeal.n + 1 === line.n && line.from !== lastSeal.to + 1)
      differences.add(
        'changed',
        `seal ${line.n} begins with event ${line.from}, but the previous one ends with ${lastSeal.to}`,
      );
    if (line.n === 1 && line.from !== 1)
      differences.add('changed', `seal 1 begins with event ${line.from}, not with 1`);
    firstSeal ??= line;
    lastSeal = await sealCheck.check(line, lastSeal);
    lastSealAt = line.at;
    await checkCoverage(line);
  }

  function checkEnds(): string[] {
    const unknown: string[] = [];
    const numbers = trusted.anchors.map(({ n }) => n);
    if (firstSeal === undefined || lastSeal === undefined) {
      if (numbers.length === 0) return ['There is no seal in the file, so nothing in it is proved.'];
      differences.add(
        'cut',
        `${describeNumbers('seal', numbers)}: anchored, but there is no seal in the file`,
      );
      return unknown;
    }
    const firstNumber = firstSeal.n;
    const lastNumber = lastSeal.n;
    const laterAnchors = numbers.filter((n) => n > lastNumber);
    if (laterAnchors.length > 0)
      differences.add(
        'cut',
        `the file ends with seal ${lastNumber}, but ${describeNumbers('seal', laterAnchors)} was anchored: the end is missing`,
      );
    if (firstNumber === 1 || numbers.includes(firstNumber - 1)) return unknown;
    const earlierAnchors = numbers.filter((n) => n < firstNumber);
    if (earlierAnchors.length > 0)
      differences.add(
        'cut',
        `the file begins with seal ${firstNumber}, but ${describeNumbers('seal', earlierAnchors)} was anchored: the beginning is missing`,
      );
    else
      unknown.push(
        `The file begins with seal ${firstNumber}: only the anchor of seal ${firstNumber - 1} can show whether something was cut off before it (--anchor ${firstNumber - 1}:HEX).`,
      );
    return unknown;
  }

  return {
    async checkLine(line, number) {
      const where = ` (line ${number})`;
      if (line.type === 'event') await checkEvent(line, where);
      else if (line.type === 'seal') await checkSeal(line, where);
      else differences.add('added', `a line of a type that ledgers do not have: ${line.type}${where}`);
    },
    async finish() {
      if (uncovered.size > 0)
        differences.add(
          'cut',
          `${describeNumbers('event', uncovered.keys())}: no seal follows that covers it: the end was cut off, or it was added`,
        );
      eventSequence.reportMissing();
      sealSequence.reportMissing();
      const unknown = [...checkEnds(), ...describeUnrecordedDeletions(deletedLeaves, recorded)];
      const anchored = sealCheck.matchedAnchors.at(-1);
      const result = { anchored, erasures: erasures.all(), unknown, notes: [], explanations };
      if (firstSeal === undefined || lastSeal === undefined)
        return { ...result, events: undefined, seals: undefined, proved: [] };
      const eventRange = { from: firstSeal.from, to: lastSeal.to, count: eventCount };
      return {
        ...result,
        events: eventRange,
        seals: { from: firstSeal.n, to: lastSeal.n, count: sealCount },
        proved: [
          `${eventCount} events (${eventRange.from} to ${eventRange.to}) are all there, unchanged and in order.`,
          `${sealCount} seals (${firstSeal.n} to ${lastSeal.n}), each chained to the previous one, are signed by ${header.key}; the newest is from ${lastSealAt}.`,
          ...(signatureCount === 0
            ? []
            : [
                `${signatureCount} passkey signatures match their events${trusted.roots === undefined ? '' : ', and the roots vouched for those of approvals'}; a receipt names the signers.`,
              ]),
          ...(anchored === undefined
            ? []
            : [
                `Anchor ${anchored.seal} fits: everything sealed up to event ${anchored.to} hasn’t changed since that seal was published (${anchored.at}, according to the seal).`,
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

function collectRecordedDeletions({ content }: EventLine, recorded: RecordedDeletions): void {
  const { seqs, leaves } = objectOf(content?.['data']);
  for (const range of Array.isArray(seqs) ? seqs : []) {
    const [from, to] = Array.isArray(range) ? range : [];
    if (typeof from === 'number' && typeof to === 'number') recorded.ranges.push([from, to]);
  }
  for (const leaf of Array.isArray(leaves) ? leaves : [])
    if (typeof leaf === 'string') recorded.leaves.add(leaf);
}

function describeUnrecordedDeletions(
  deletedLeaves: ReadonlyMap<number, string>,
  { ranges, leaves }: RecordedDeletions,
): string[] {
  const sorted = [...ranges].sort(([a], [b]) => a - b);
  let next = 0;
  let reached = 0;
  const unrecorded: number[] = [];
  for (const [seq, leaf] of [...deletedLeaves].sort(([a], [b]) => a - b)) {
    for (; (sorted[next]?.[0] ?? Number.POSITIVE_INFINITY) <= seq; next += 1)
      reached = Math.max(reached, sorted[next]?.[1] ?? 0);
    if (seq > reached && !leaves.has(leaf)) unrecorded.push(seq);
  }
  if (unrecorded.length === 0) return [];
  return [
    `${describeNumbers('event', unrecorded)}: without content, and no event in the file records its deletion. Either a later event does (export a newer file), or someone blanked it.`,
  ];
}

/** Whether the event is the bot's record that the database was restored from an earlier state. */
function isRestoreRecord({ content }: EventLine): boolean {
  if (content?.['kind'] === 'database_restored') return true;
  const { differences } = objectOf(content?.['data']);
  return (
    content?.['kind'] === 'ledger_differs' &&
    Array.isArray(differences) &&
    differences.some((difference) => isJsonObject(difference) && difference['code'] === 'rolled_back')
  );
}
