import { type Bytes, toHex, utf8 } from './bytes.ts';
import { asObjectOrEmpty, isJsonObject, toCanonicalJson } from './canonical-json.ts';
import type { Cryptography } from './cryptography.ts';
import { computeLeafHash, computeTreeHead } from './merkle.ts';
import { type DifferenceCollector, describeNumbers, type Report, type TrustedInputs } from './report.ts';
import { type CheckedSeal, createSealCheck } from './seals.ts';
import type { Erasure, EventLine, Header, Line, SealLine } from './shapes.ts';
import { checkSignedEvent, describeUnknownRoot, type Revocation, readRevocation } from './signatures.ts';

export interface FileCheck {
  checkLine(line: Line, lineNumber: number): Promise<void>;
  finish(): Promise<
    Omit<Report, 'verdict' | 'file' | 'key' | 'order' | 'differences'> & {
      /** Sentences about the file that may explain differences. */
      readonly explanations?: readonly string[];
    }
  >;
}

/** If a number skips more than this, no numbers are reported as missing, because the number itself must be wrong. */
const MAX_GAP = 1_000_000;

function inclusiveRange(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}

/** Counts deleted events by the person who deleted them. */
export function createErasureCollector() {
  const erasures = new Map<string, { count: number; by: string; from: string; to: string }>();
  return {
    add({ at, by }: Erasure) {
      const previous = erasures.get(by) ?? { count: 0, by, from: at, to: at };
      const from = at < previous.from ? at : previous.from;
      erasures.set(by, { by, count: previous.count + 1, from, to: at > previous.to ? at : previous.to });
    },
    list: () => [...erasures.values()],
  };
}

/** If the event was deleted, the stored leaf hash is used. */
export async function computeEventLeafHash(
  cryptography: Cryptography,
  { content, leaf }: EventLine,
): Promise<Bytes> {
  if (leaf !== undefined) return leaf;
  return computeLeafHash(cryptography, utf8(toCanonicalJson(content ?? null)));
}

/** Checks numbers that must increase by one, and finds missing and misplaced ones. */
function createSequenceCheck(noun: string, differences: DifferenceCollector) {
  const missingNumbers = new Set<number>();
  let firstNumber: number | undefined;
  let nextNumber: number | undefined;
  return {
    missing: missingNumbers,
    /** @returns whether the number is new */
    accept(n: number, location: string): boolean {
      firstNumber ??= n;
      nextNumber ??= n;
      if (n > nextNumber) {
        if (n - nextNumber > MAX_GAP)
          differences.add('changed', `${noun} ${n}: the number is far higher than the previous one`);
        else for (const number of inclusiveRange(nextNumber, n - 1)) missingNumbers.add(number);
      } else if (n < nextNumber) {
        const isLate = missingNumbers.delete(n) || n < firstNumber;
        for (const number of inclusiveRange(n + 1, firstNumber - 1)) missingNumbers.add(number);
        firstNumber = Math.min(firstNumber, n);
        if (isLate) differences.add('reordered', `${noun} ${n} comes after a later one${location}`);
        else differences.add('added', `${noun} ${n} appears twice${location}`);
        return isLate;
      }
      missingNumbers.delete(n);
      nextNumber = n + 1;
      return true;
    },
    reportMissing() {
      if (missingNumbers.size > 0)
        differences.add('dropped', `${describeNumbers(noun, missingNumbers)}: not in the file`);
    },
  };
}

/** Verifies a ledger, in which events are followed by their seal. */
export async function createLedgerCheck(
  header: Header,
  trusted: TrustedInputs,
  cryptography: Cryptography,
  differences: DifferenceCollector,
): Promise<FileCheck> {
  const sealCheck = await createSealCheck(header, trusted, cryptography, differences);
  const erasureCollector = createErasureCollector();
  const eventSequence = createSequenceCheck('event', differences);
  const sealSequence = createSequenceCheck('seal', differences);
  /** Leaf hashes of the events that no seal covers yet. */
  const uncoveredLeaves = new Map<number, Bytes>();
  let firstSeal: SealLine | undefined;
  let lastSeal: CheckedSeal | undefined;
  let lastSealAt = '';
  let eventCount = 0;
  let sealCount = 0;
  let signatureCount = 0;
  /** Stored hashes of deleted events. */
  const deletedLeaves = new Map<number, string>();
  const recordedDeletions: RecordedDeletions = { seqRanges: [], leafHashes: new Set() };
  const revocationsByKey = new Map<string, Revocation>();
  const explanations: string[] = [];

  async function checkEvent(line: EventLine, location: string): Promise<void> {
    if (!eventSequence.accept(line.seq, location)) return;
    eventCount += 1;
    if (line.erasure !== undefined) {
      erasureCollector.add(line.erasure);
      deletedLeaves.set(line.seq, toHex(line.leaf ?? new Uint8Array()));
    }
    if (lastSeal !== undefined && line.seq <= lastSeal.to) {
      differences.add('reordered', `event ${line.seq} comes after the seal that covers it${location}`);
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
    for (const { key, text } of (signedEvent?.keyFingerprints ?? []).flatMap(
      (signingKey) => revocationsByKey.get(signingKey) ?? [],
    ))
      differences.add('key', `event ${line.seq}: its signature rests on ${key}, which had been ${text}`);
    if (line.content?.['kind'] === 'events_forgotten') collectRecordedDeletions(line, recordedDeletions);
    const revocation = readRevocation(line);
    if (revocation !== undefined && !revocationsByKey.has(revocation.key))
      revocationsByKey.set(revocation.key, revocation);
    uncoveredLeaves.set(line.seq, await computeEventLeafHash(cryptography, line));
  }

  async function checkCoverage({ n, from, to, root }: SealLine): Promise<void> {
    const isHuge = to - from > MAX_GAP;
    const seqs = isHuge ? [] : inclusiveRange(from, to);
    const leaves = seqs.flatMap((seq) => uncoveredLeaves.get(seq) ?? []);
    const isComplete = leaves.length === seqs.length && !isHuge;
    if (isHuge) differences.add('changed', `seal ${n} says that it covers ${to - from + 1} events`);
    for (const seq of seqs) if (!uncoveredLeaves.delete(seq)) eventSequence.missing.add(seq);
    if (isComplete && toHex(await computeTreeHead(cryptography, leaves)) !== root)
      differences.add('changed', `${describeNumbers('event', seqs)}: not what seal ${n} sealed`);
    const earlyEvents = [...uncoveredLeaves.keys()].filter((seq) => seq > to);
    if (earlyEvents.length > 0)
      differences.add(
        'reordered',
        `${describeNumbers('event', earlyEvents)}: before seal ${n}, which ends with event ${to}`,
      );
    const uncoveredEvents = [...uncoveredLeaves.keys()].filter((seq) => seq < from);
    if (uncoveredEvents.length > 0)
      differences.add('added', `${describeNumbers('event', uncoveredEvents)}: covered by no seal`);
    for (const seq of uncoveredEvents) uncoveredLeaves.delete(seq);
  }

  async function checkSeal(line: SealLine, location: string): Promise<void> {
    if (!sealSequence.accept(line.n, location)) return;
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

  function checkFileEnds(): string[] {
    const unknownNotes: string[] = [];
    const anchorNumbers = trusted.anchors.map(({ n }) => n);
    if (firstSeal === undefined || lastSeal === undefined) {
      if (anchorNumbers.length === 0) return ['There is no seal in the file, so nothing in it is proved.'];
      differences.add(
        'cut',
        `${describeNumbers('seal', anchorNumbers)}: anchored, but there is no seal in the file`,
      );
      return unknownNotes;
    }
    const firstNumber = firstSeal.n;
    const lastNumber = lastSeal.n;
    const laterAnchors = anchorNumbers.filter((n) => n > lastNumber);
    if (laterAnchors.length > 0)
      differences.add(
        'cut',
        `the file ends with seal ${lastNumber}, but ${describeNumbers('seal', laterAnchors)} was anchored: the end is missing`,
      );
    if (firstNumber === 1 || anchorNumbers.includes(firstNumber - 1)) return unknownNotes;
    const earlierAnchors = anchorNumbers.filter((n) => n < firstNumber);
    if (earlierAnchors.length > 0)
      differences.add(
        'cut',
        `the file begins with seal ${firstNumber}, but ${describeNumbers('seal', earlierAnchors)} was anchored: the beginning is missing`,
      );
    else
      unknownNotes.push(
        `The file begins with seal ${firstNumber}: only the anchor of seal ${firstNumber - 1} can show whether something was cut off before it (--anchor ${firstNumber - 1}:HEX).`,
      );
    return unknownNotes;
  }

  return {
    async checkLine(line, lineNumber) {
      const location = ` (line ${lineNumber})`;
      if (line.type === 'event') await checkEvent(line, location);
      else if (line.type === 'seal') await checkSeal(line, location);
      else differences.add('added', `a line of a type that ledgers do not have: ${line.type}${location}`);
    },
    async finish() {
      if (uncoveredLeaves.size > 0)
        differences.add(
          'cut',
          `${describeNumbers('event', uncoveredLeaves.keys())}: no seal follows that covers it: the end was cut off, or it was added`,
        );
      eventSequence.reportMissing();
      sealSequence.reportMissing();
      const unknown = [...checkFileEnds(), ...describeUnrecordedDeletions(deletedLeaves, recordedDeletions)];
      const anchored = sealCheck.matchedAnchors.at(-1);
      const result = { anchored, erasures: erasureCollector.list(), unknown, notes: [], explanations };
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

/** Deletions listed by later events. Events that weren't sealed when they were deleted are listed by leaf hash. */
interface RecordedDeletions {
  readonly seqRanges: (readonly [number, number])[];
  readonly leafHashes: Set<string>;
}

function collectRecordedDeletions({ content }: EventLine, recordedDeletions: RecordedDeletions): void {
  const { seqs, leaves } = asObjectOrEmpty(content?.['data']);
  for (const range of Array.isArray(seqs) ? seqs : []) {
    const [from, to] = Array.isArray(range) ? range : [];
    if (typeof from === 'number' && typeof to === 'number') recordedDeletions.seqRanges.push([from, to]);
  }
  for (const leaf of Array.isArray(leaves) ? leaves : [])
    if (typeof leaf === 'string') recordedDeletions.leafHashes.add(leaf);
}

function describeUnrecordedDeletions(
  deletedLeaves: ReadonlyMap<number, string>,
  { seqRanges, leafHashes }: RecordedDeletions,
): string[] {
  const sortedRanges = [...seqRanges].sort(([a], [b]) => a - b);
  let rangeIndex = 0;
  let lastRecordedSeq = 0;
  const unrecordedSeqs: number[] = [];
  for (const [seq, leaf] of [...deletedLeaves].sort(([a], [b]) => a - b)) {
    for (; (sortedRanges[rangeIndex]?.[0] ?? Number.POSITIVE_INFINITY) <= seq; rangeIndex += 1)
      lastRecordedSeq = Math.max(lastRecordedSeq, sortedRanges[rangeIndex]?.[1] ?? 0);
    if (seq > lastRecordedSeq && !leafHashes.has(leaf)) unrecordedSeqs.push(seq);
  }
  if (unrecordedSeqs.length === 0) return [];
  return [
    `${describeNumbers('event', unrecordedSeqs)}: without content, and no event in the file records its deletion. Either a later event does (export a newer file), or someone blanked it.`,
  ];
}

/** Whether the event is the bot's record that the database was restored from an earlier state. */
function isRestoreRecord({ content }: EventLine): boolean {
  if (content?.['kind'] === 'database_restored') return true;
  const { differences } = asObjectOrEmpty(content?.['data']);
  return (
    content?.['kind'] === 'ledger_differs' &&
    Array.isArray(differences) &&
    differences.some((difference) => isJsonObject(difference) && difference['code'] === 'rolled_back')
  );
}
