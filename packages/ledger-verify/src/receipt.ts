import { toHex, utf8 } from './bytes.ts';
import { asObjectOrEmpty, type Json, toCanonicalJson } from './canonical-json.ts';
import type { Cryptography } from './cryptography.ts';
import { computeEventLeafHash, createErasureCollector, type FileCheck } from './ledger.ts';
import { computePathHead } from './merkle.ts';
import { type DifferenceCollector, describeNumbers, type Report, type TrustedInputs } from './report.ts';
import { type CheckedSeal, createSealCheck, type MatchedAnchor } from './seals.ts';
import type { AnchorLine, EventLine, Header, PathLine, SealLine, StatementLine } from './shapes.ts';
import { checkSignedEvent, describeUnknownRoot, readRevocation } from './signatures.ts';

interface Receipt {
  readonly statements: StatementLine[];
  readonly events: Map<number, EventLine>;
  readonly paths: Map<number, PathLine>;
  readonly seals: Map<number, SealLine>;
  readonly anchors: Map<number, AnchorLine>;
}

/** Verifies that the events of one order are in the ledger, and that they are about its statement. */
export async function createReceiptCheck(
  header: Header,
  trusted: TrustedInputs,
  cryptography: Cryptography,
  differences: DifferenceCollector,
): Promise<FileCheck> {
  const receipt: Receipt = {
    statements: [],
    events: new Map(),
    paths: new Map(),
    seals: new Map(),
    anchors: new Map(),
  };
  const sealCheck = await createSealCheck(header, trusted, cryptography, differences);

  /** Numbers must increase and be unique for each type of line. */
  function addLine<Line>(
    lines: Map<number, Line>,
    n: number,
    line: Line,
    label: string,
    location: string,
  ): void {
    const lastNumber = [...lines.keys()].at(-1) ?? 0;
    if (lines.has(n)) differences.add('added', `${label} ${n} appears twice${location}`);
    else if (n < lastNumber) differences.add('reordered', `${label} ${n} comes after a later one${location}`);
    if (!lines.has(n)) lines.set(n, line);
  }

  return {
    async checkLine(line, lineNumber) {
      const location = ` (line ${lineNumber})`;
      if (line.type === 'statement') receipt.statements.push(line);
      else if (line.type === 'event') addLine(receipt.events, line.seq, line, 'event', location);
      else if (line.type === 'path') addLine(receipt.paths, line.seq, line, 'the path of event', location);
      else if (line.type === 'seal') addLine(receipt.seals, line.n, line, 'seal', location);
      else addLine(receipt.anchors, line.n, line, 'anchor', location);
    },
    async finish() {
      let previousSeal: CheckedSeal | undefined;
      const sealHashes = new Map<number, string>();
      for (const seal of receipt.seals.values()) {
        const isConsecutive = previousSeal !== undefined && previousSeal.n + 1 === seal.n;
        previousSeal = await sealCheck.check(seal, isConsecutive ? previousSeal : undefined);
        sealHashes.set(seal.n, previousSeal.hash);
      }
      checkAnchors(receipt, sealHashes, differences);
      await checkPaths(receipt, cryptography, differences);
      const subjectNotes = checkSubjects(header, receipt, differences);
      const statementResult = await checkStatement(header, receipt, cryptography, differences);
      const signatureResult = await checkSignatures(
        header,
        [...receipt.events.values()],
        trusted,
        cryptography,
        differences,
      );
      const erasureCollector = createErasureCollector();
      for (const event of receipt.events.values()) if (event.erasure) erasureCollector.add(event.erasure);
      const seqs = [...receipt.events.keys()];
      const sealNumbers = [...receipt.seals.keys()];
      const [firstSeq = 0] = seqs;
      const [firstSealNumber = 0] = sealNumbers;
      const datedEvents = findDatedEvents(
        receipt,
        sealCheck.matchedAnchors.map((anchor) => ({
          ...anchor,
          description: `seal ${anchor.seal} left (${anchor.at})`,
        })),
      );
      const unusedAnchorNumbers = trusted.anchors.map(({ n }) => n).filter((n) => !receipt.seals.has(n));
      const isEmpty = seqs.length === 0 || sealNumbers.length === 0;
      return {
        events: isEmpty ? undefined : { from: firstSeq, to: seqs.at(-1) ?? firstSeq, count: seqs.length },
        seals: isEmpty
          ? undefined
          : { from: firstSealNumber, to: sealNumbers.at(-1) ?? firstSealNumber, count: sealNumbers.length },
        anchored: datedEvents.newestAnchor,
        erasures: erasureCollector.list(),
        proved: [
          `${seqs.length} events of order ${header.order} are in the ledger with this content (${describeNumbers('event', seqs)}).`,
          `The seals over them (${describeNumbers('seal', sealNumbers)}) are signed by ${header.key}.`,
          ...statementResult.proved,
          ...signatureResult.proved.map(({ text, seq }) => {
            const anchorDescription = datedEvents.anchorDescriptionBySeq.get(seq);
            return `${text}${anchorDescription === undefined ? '' : `, before ${anchorDescription}`}.`;
          }),
          ...datedEvents.proved,
        ],
        unknown: [...(isEmpty ? ['The receipt has no events or no seals.'] : []), ...statementResult.unknown],
        notes: [
          ...subjectNotes,
          ...signatureResult.notes,
          ...describeUndatedEvents(seqs, datedEvents),
          ...(unusedAnchorNumbers.length === 0
            ? []
            : [
                `${describeNumbers('seal', unusedAnchorNumbers)}: anchored, but not in this receipt, so the anchor proves nothing here.`,
              ]),
          'A receipt proves only its own content. Only the ledger proves that no event of the order and no revocation of a key is missing.',
        ],
      };
    },
  };
}

async function checkPaths(
  receipt: Receipt,
  cryptography: Cryptography,
  differences: DifferenceCollector,
): Promise<void> {
  const { events, paths, seals } = receipt;
  const eventsWithoutPath = [...events.keys()].filter((seq) => !paths.has(seq));
  if (eventsWithoutPath.length > 0)
    differences.add(
      'dropped',
      `${describeNumbers('event', eventsWithoutPath)}: the path into the ledger is missing`,
    );
  for (const path of paths.values()) {
    const { seq, index, size } = path;
    const event = events.get(seq);
    const seal = seals.get(path.seal);
    if (event === undefined)
      differences.add('dropped', `event ${seq} is missing, although there is a path for it`);
    else if (seal === undefined)
      differences.add('dropped', `seal ${path.seal}, to which event ${seq} belongs, is missing`);
    else if (index !== seq - seal.from || size !== seal.to - seal.from + 1)
      differences.add('changed', `the path of event ${seq} is not one into seal ${seal.n}`);
    else {
      const head = await computePathHead(cryptography, await computeEventLeafHash(cryptography, event), path);
      if (head === undefined || toHex(head) !== seal.root)
        differences.add('changed', `event ${seq}: it, or its path, is not what seal ${seal.n} sealed`);
    }
  }
}

/** Dates its seal and all earlier seals in the chain. */
interface DescribedAnchor extends MatchedAnchor {
  /** The end of a sentence, such as `seal 3 left (2026-11-28T02:00:00Z)`. */
  readonly description: string;
}

interface DatedEvents {
  readonly newestAnchor: Report['anchored'];
  readonly anchorDescriptionBySeq: ReadonlyMap<number, string>;
  readonly proved: string[];
}

/**
 * Finds the events that anchors date. An anchor dates an earlier seal only if the file has all seals up to the anchored
 * one. Otherwise, the key's holder could create a seal today and insert it before one that was published long ago.
 * @param anchors in the order of their seals
 */
function findDatedEvents({ paths, seals }: Receipt, anchors: readonly DescribedAnchor[]): DatedEvents {
  const eventsByAnchor = new Map<DescribedAnchor, number[]>();
  for (const { seq, seal } of paths.values()) {
    let lastConsecutiveSeal = seal;
    while (seals.has(lastConsecutiveSeal + 1)) lastConsecutiveSeal += 1;
    const firstAnchor = anchors.find((anchor) => anchor.seal >= seal && anchor.seal <= lastConsecutiveSeal);
    if (firstAnchor !== undefined)
      eventsByAnchor.set(firstAnchor, [...(eventsByAnchor.get(firstAnchor) ?? []), seq]);
  }
  const newestAnchor = [...eventsByAnchor.keys()].at(-1);
  return {
    newestAnchor: newestAnchor && { seal: newestAnchor.seal, to: newestAnchor.to, at: newestAnchor.at },
    anchorDescriptionBySeq: new Map(
      [...eventsByAnchor].flatMap(([{ description }, seqs]) =>
        seqs.map((seq) => [seq, description] as const),
      ),
    ),
    proved: [...eventsByAnchor].map(
      ([{ seal, description }, seqs]) =>
        `Anchor ${seal} fits: ${describeNumbers('event', seqs)} stood so when ${description}.`,
    ),
  };
}

function describeUndatedEvents(seqs: readonly number[], { anchorDescriptionBySeq }: DatedEvents): string[] {
  const undatedEvents = seqs.filter((seq) => !anchorDescriptionBySeq.has(seq));
  return anchorDescriptionBySeq.size === 0 || undatedEvents.length === 0
    ? []
    : [
        `${describeNumbers('event', undatedEvents)}: after every anchor that is known, so no anchor covers this.`,
      ];
}

function checkAnchors(
  { anchors }: Receipt,
  sealHashes: ReadonlyMap<number, string>,
  differences: DifferenceCollector,
): void {
  for (const { n, hash } of anchors.values())
    if (sealHashes.get(n) !== hash) differences.add('changed', `anchor ${n} is not the hash of seal ${n}`);
}

function describeEvents(events: readonly { readonly seq: number }[]): string {
  return describeNumbers(
    'event',
    events.map(({ seq }) => seq),
  );
}

/** @returns notes about events that aren't about an order */
function checkSubjects({ order }: Header, { events }: Receipt, differences: DifferenceCollector): string[] {
  const foreignEvents = [...events.values()].filter(({ content }) => {
    const { kind, id } = asObjectOrEmpty(content?.['subject']);
    return kind === 'order' && id !== order;
  });
  if (foreignEvents.length > 0)
    differences.add('added', `${describeEvents(foreignEvents)}: about an order other than ${order}`);
  const unrelatedEvents = [...events.values()].filter(
    ({ content }) => content !== undefined && asObjectOrEmpty(content['subject'])['kind'] !== 'order',
  );
  return unrelatedEvents.length === 0
    ? []
    : [`${describeEvents(unrelatedEvents)}: not about an order, but for example about a revoked key.`];
}

async function checkStatement(
  { order }: Header,
  { statements, events }: Receipt,
  { sha256 }: Cryptography,
  differences: DifferenceCollector,
): Promise<{ readonly proved: string[]; readonly unknown: string[] }> {
  const [statementLine] = statements;
  if (statements.length > 1)
    differences.add('added', `${statements.length} statements, but a receipt has only one`);
  if (statementLine === undefined) {
    differences.add('dropped', 'the statement is missing');
    return { proved: [], unknown: [] };
  }
  const hash =
    statementLine.hash ?? toHex(await sha256(utf8(toCanonicalJson(statementLine.statement ?? null))));
  if (statementLine.statement !== undefined && statementLine.statement['order'] !== order)
    differences.add('changed', `the statement is that of another order than ${order}`);
  const statementReferences = [...events.values()].flatMap(({ seq, content }) => {
    const { statement } = asObjectOrEmpty(content?.['data']);
    return typeof statement === 'string' ? [{ seq, statement }] : [];
  });
  const mismatches = statementReferences.filter(({ statement }) => statement !== hash).map(({ seq }) => seq);
  if (mismatches.length > 0)
    differences.add(
      'changed',
      `the statement is not the one that ${describeNumbers('event', mismatches)} name`,
    );
  if (statementReferences.length === 0)
    return {
      proved: [],
      unknown: ['No event in the receipt names the statement, so it may not be the one that was approved.'],
    };
  if (statementLine.statement === undefined)
    return {
      proved: [],
      unknown: [
        `The receipt doesn’t include what the order sends, only its hash (${hash}). The bot no longer has the content, because a person in it was forgotten, the service’s address has changed, or its rows were changed. An older receipt includes it.`,
      ],
    };
  return {
    proved: [
      `The statement (${hash}) is the one that ${describeEvents(statementReferences)} name.`,
      ...checkSendTime(statementLine.statement['notBefore'], events.values(), differences),
    ],
    unknown: [],
  };
}

function checkSendTime(
  notBefore: Json | undefined,
  events: Iterable<EventLine>,
  differences: DifferenceCollector,
): string[] {
  if (typeof notBefore !== 'string') return [];
  const earlyEvents = [...events].filter(
    ({ content }) =>
      content?.['kind'] === 'sending' && !(Date.parse(String(content['at'])) >= Date.parse(notBefore)),
  );
  if (earlyEvents.length > 0)
    differences.add(
      'changed',
      `${describeEvents(earlyEvents)} sent it before ${notBefore}, its approved time`,
    );
  return [`It was approved to be sent at ${notBefore} or later.`];
}

async function checkSignatures(
  { order }: Header,
  events: readonly EventLine[],
  { roots }: TrustedInputs,
  cryptography: Cryptography,
  differences: DifferenceCollector,
): Promise<{ readonly proved: { readonly text: string; readonly seq: number }[]; readonly notes: string[] }> {
  const proofs: { readonly text: string; readonly seq: number }[] = [];
  const revocationNotes = new Set<string>();
  const hasAllContent = events.every(({ content }) => content !== undefined);
  const revocations = events.flatMap((event) => readRevocation(event) ?? []);
  for (const event of events) {
    // A revocation is about a key, not about an order, so its signature doesn't matter.
    const signedEvent =
      readRevocation(event) === undefined && (await checkSignedEvent(event, cryptography, order));
    if (!signedEvent) continue;
    for (const fault of signedEvent.faults)
      differences.add('changed', `event ${event.seq}: its signature does not fit: ${fault}`);
    const rootFault = describeUnknownRoot(signedEvent, roots);
    if (rootFault !== undefined) differences.add('key', `event ${event.seq}: ${rootFault}`);
    for (const { key, seq, text } of revocations.filter(({ key }) =>
      signedEvent.keyFingerprints.includes(key),
    )) {
      if (seq < event.seq)
        differences.add('key', `event ${event.seq}: its signature rests on ${key}, which had been ${text}`);
      else
        revocationNotes.add(
          `The key ${key} was ${text}. Its signatures count until then, but not for anything that was sent later.`,
        );
    }
    proofs.push({ text: `${signedEvent.text} (event ${event.seq})`, seq: event.seq });
  }
  const notes =
    roots === undefined && proofs.length > 0
      ? [
          'The roots weren’t given, so their owners aren’t known: compare them with the roots that the operator published (--roots).',
        ]
      : roots !== undefined && proofs.length === 0
        ? [`No approval ${hasAllContent ? '' : 'that is left '}in it is signed, so the roots prove nothing.`]
        : [];
  return { proved: proofs, notes: [...notes, ...revocationNotes] };
}
