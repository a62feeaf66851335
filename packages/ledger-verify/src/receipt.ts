import { toHex, utf8 } from './bytes.ts';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from './canonical-json.ts';
import type { Cryptography } from './cryptography.ts';
import { collectErasures, type FileCheck, leafOf } from './ledger.ts';
import { headOfPath } from './merkle.ts';
import { type Differences, describeNumbers, type Report, type TrustedInputs } from './report.ts';
import { type CheckedSeal, createSealCheck } from './seals.ts';
import type { AnchorLine, EventLine, Header, PathLine, SealLine, StatementLine } from './shapes.ts';
import { checkSignedEvent, otherRoot, revocationOf } from './signatures.ts';

interface Receipt {
  readonly statements: StatementLine[];
  readonly events: Map<number, EventLine>;
  readonly paths: Map<number, PathLine>;
  readonly seals: Map<number, SealLine>;
  readonly anchors: Map<number, AnchorLine>;
}

/**
 * Verifies the receipt of one order: each of its events must be in the ledger, and they must be about its statement.
 */
export async function createReceiptCheck(
  header: Header,
  trusted: TrustedInputs,
  cryptography: Cryptography,
  differences: Differences,
): Promise<FileCheck> {
  const receipt: Receipt = {
    statements: [],
    events: new Map(),
    paths: new Map(),
    seals: new Map(),
    anchors: new Map(),
  };
  const checkSeals = await createSealCheck(header, trusted, cryptography, differences);

  /** The lines of a kind must have increasing numbers without duplicates. */
  function keep<Line>(lines: Map<number, Line>, n: number, line: Line, what: string, where: string): void {
    const last = [...lines.keys()].at(-1) ?? 0;
    if (lines.has(n)) differences.add('added', `${what} ${n} appears twice${where}`);
    else if (n < last) differences.add('reordered', `${what} ${n} stands after later ones${where}`);
    if (!lines.has(n)) lines.set(n, line);
  }

  return {
    async line(line, number) {
      const where = ` (line ${number})`;
      if (line.type === 'statement') receipt.statements.push(line);
      else if (line.type === 'event') keep(receipt.events, line.seq, line, 'event', where);
      else if (line.type === 'path') keep(receipt.paths, line.seq, line, 'the path of event', where);
      else if (line.type === 'seal') keep(receipt.seals, line.n, line, 'seal', where);
      else keep(receipt.anchors, line.n, line, 'anchor', where);
    },
    async end() {
      let last: CheckedSeal | undefined;
      const hashes = new Map<number, string>();
      for (const seal of receipt.seals.values()) {
        const isNext = last !== undefined && last.n + 1 === seal.n;
        last = await checkSeals.check(seal, isNext ? last : undefined);
        hashes.set(seal.n, last.hash);
      }
      checkAnchors(receipt, hashes, differences);
      await checkPaths(receipt, cryptography, differences);
      const about = checkOrder(header, receipt, differences);
      const stated = await checkStatement(header, receipt, cryptography, differences);
      const signed = await checkSignatures(
        header,
        receipt.events.values(),
        trusted,
        cryptography,
        differences,
      );
      const erasures = collectErasures();
      for (const event of receipt.events.values()) if (event.forgotten) erasures.add(event.forgotten);
      const seqs = [...receipt.events.keys()];
      const numbers = [...receipt.seals.keys()];
      const [from = 0] = seqs;
      const [firstSeal = 0] = numbers;
      const anchors = checkSeals.anchored.map((anchor) => {
        const left = `seal ${anchor.seal} left (${anchor.at})`;
        return { ...anchor, before: left };
      });
      const anchored = dateEvents(receipt, anchors);
      const unused = trusted.anchors.filter(({ n }) => !receipt.seals.has(n));
      const isEmpty = seqs.length === 0 || numbers.length === 0;
      return {
        events: isEmpty ? undefined : { from, to: seqs.at(-1) ?? from, count: seqs.length },
        seals: isEmpty
          ? undefined
          : { from: firstSeal, to: numbers.at(-1) ?? firstSeal, count: numbers.length },
        anchored: anchored.newest,
        erasures: erasures.all(),
        proved: [
          `${seqs.length} events of order ${header.order} are in the ledger with this content (${describeNumbers('event', seqs)}).`,
          `The seals over them (${describeNumbers('seal', numbers)}) are signed by ${header.key}.`,
          ...stated.proved,
          ...signed.proved.map(({ text, seq }) => {
            const before = anchored.before.get(seq);
            return `${text}${before === undefined ? '' : `, before ${before}`}.`;
          }),
          ...anchored.proved,
        ],
        unknown: [...(isEmpty ? ['There are no events and seals in the receipt.'] : []), ...stated.unknown],
        notes: [
          ...about,
          ...signed.notes,
          ...lateText(seqs, anchored),
          ...(unused.length === 0
            ? []
            : [
                `${describeNumbers(
                  'seal',
                  unused.map(({ n }) => n),
                )}: anchored, but not in this receipt, so the anchor says nothing of it.`,
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
  differences: Differences,
): Promise<void> {
  const { events, paths, seals } = receipt;
  const unproved = [...events.keys()].filter((seq) => !paths.has(seq));
  if (unproved.length > 0)
    differences.add('dropped', `${describeNumbers('event', unproved)}: the path into the ledger is missing`);
  for (const path of paths.values()) {
    const { seq, index, size } = path;
    const event = events.get(seq);
    const seal = seals.get(path.seal);
    if (event === undefined)
      differences.add('dropped', `event ${seq}: there is a path for it, but it is missing`);
    else if (seal === undefined)
      differences.add('dropped', `seal ${path.seal}, to which event ${seq} belongs, is missing`);
    else if (index !== seq - seal.from || size !== seal.to - seal.from + 1)
      differences.add('changed', `the path of event ${seq} is not one into seal ${seal.n}`);
    else {
      const head = await headOfPath(cryptography, await leafOf(cryptography, event), path);
      if (head === undefined || toHex(head) !== seal.root)
        differences.add('changed', `event ${seq}: it, or its path, is not what seal ${seal.n} sealed`);
    }
  }
}

/** A known anchor that matches. It dates its seal and all earlier seals in the chain. */
interface DatingAnchor {
  readonly seal: number;
  readonly to: number;
  readonly at: string;
  /** The end of a sentence about events before the anchor. */
  readonly before: string;
}

interface DatedEvents {
  readonly newest: Report['anchored'];
  /** By event number, the anchor that dates the event. */
  readonly before: ReadonlyMap<number, string>;
  readonly proved: string[];
}

/**
 * Finds the events that anchors date. An anchor dates a seal only if all seals between the two are in the file.
 * Otherwise, the holder of the key could create a seal today and put it before one that was published long ago.
 * @param anchors in the order of their seals
 */
function dateEvents({ paths, seals }: Receipt, anchors: readonly DatingAnchor[]): DatedEvents {
  const covered = new Map<DatingAnchor, number[]>();
  for (const { seq, seal } of paths.values()) {
    let end = seal;
    while (seals.has(end + 1)) end += 1;
    const first = anchors.find((each) => each.seal >= seal && each.seal <= end);
    if (first !== undefined) covered.set(first, [...(covered.get(first) ?? []), seq]);
  }
  const newest = [...covered.keys()].at(-1);
  return {
    newest: newest && { seal: newest.seal, to: newest.to, at: newest.at },
    before: new Map([...covered].flatMap(([{ before }, seqs]) => seqs.map((seq) => [seq, before] as const))),
    proved: [...covered].map(
      ([{ seal, before }, seqs]) =>
        `Anchor ${seal} fits: ${describeNumbers('event', seqs)} stood so when ${before}.`,
    ),
  };
}

/** The note about events that have no date, if others have one. */
function lateText(seqs: readonly number[], { before }: DatedEvents): string[] {
  const late = seqs.filter((seq) => !before.has(seq));
  return before.size === 0 || late.length === 0
    ? []
    : [
        `${describeNumbers('event', late)}: after every anchor that is known, so that none says anything of it.`,
      ];
}

function checkAnchors(
  { anchors }: Receipt,
  hashes: ReadonlyMap<number, string>,
  differences: Differences,
): void {
  for (const { n, hash } of anchors.values())
    if (hashes.get(n) !== hash) differences.add('changed', `anchor ${n} is not the hash of seal ${n}`);
}

function membersOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** @returns notes about events that aren't about the order */
function checkOrder({ order }: Header, { events }: Receipt, differences: Differences): string[] {
  const strangers = [...events.values()].filter(({ content }) => {
    const { kind, id } = membersOf(content?.['subject']);
    return kind === 'order' && id !== order;
  });
  if (strangers.length > 0)
    differences.add(
      'added',
      `${describeNumbers(
        'event',
        strangers.map(({ seq }) => seq),
      )}: about another order than ${order}`,
    );
  const others = [...events.values()].filter(
    ({ content }) => content !== undefined && membersOf(content['subject'])['kind'] !== 'order',
  );
  return others.length === 0
    ? []
    : [
        `${describeNumbers(
          'event',
          others.map(({ seq }) => seq),
        )}: about no order, such as keys that were revoked.`,
      ];
}

/** Compares the statement with the one that the events refer to. */
async function checkStatement(
  { order }: Header,
  { statements, events }: Receipt,
  { sha256 }: Cryptography,
  differences: Differences,
): Promise<{ readonly proved: string[]; readonly unknown: string[] }> {
  const [line] = statements;
  if (statements.length > 1)
    differences.add('added', `${statements.length} statements: there is one a receipt`);
  if (line === undefined) {
    differences.add('dropped', 'the statement is missing');
    return { proved: [], unknown: [] };
  }
  const hash = line.hash ?? toHex(await sha256(utf8(canonicalJson(line.statement ?? null))));
  if (line.statement !== undefined && line.statement['order'] !== order)
    differences.add('changed', `the statement is that of another order than ${order}`);
  const named = [...events.values()].flatMap(({ seq, content }) => {
    const { statement } = membersOf(content?.['data']);
    return typeof statement === 'string' ? [{ seq, statement }] : [];
  });
  const others = named.filter(({ statement }) => statement !== hash).map(({ seq }) => seq);
  if (others.length > 0)
    differences.add('changed', `the statement is not the one that ${describeNumbers('event', others)} name`);
  if (named.length === 0)
    return {
      proved: [],
      unknown: [
        'No event in the receipt names the statement, so it is not known to be the one that was decided about.',
      ],
    };
  if (line.statement === undefined)
    return {
      proved: [],
      unknown: [
        `The receipt lacks what the order sends, and has only its hash (${hash}). The bot no longer has the content, because a person in it was forgotten, the service’s address has changed, or its rows were changed. An older receipt has it.`,
      ],
    };
  return {
    proved: [
      `The statement (${hash}) is the one that ${describeNumbers(
        'event',
        named.map(({ seq }) => seq),
      )} name.`,
      ...checkTime(line.statement['notBefore'], events.values(), differences),
    ],
    unknown: [],
  };
}

/** Compares the times of the requests with the approved time, if there is one. */
function checkTime(
  notBefore: Json | undefined,
  events: Iterable<EventLine>,
  differences: Differences,
): string[] {
  if (typeof notBefore !== 'string') return [];
  const early = [...events].filter(
    ({ content }) =>
      content?.['kind'] === 'sending' && !(Date.parse(String(content['at'])) >= Date.parse(notBefore)),
  );
  if (early.length > 0)
    differences.add(
      'changed',
      `${describeNumbers(
        'event',
        early.map(({ seq }) => seq),
      )} sent it before ${notBefore}, its approved time`,
    );
  return [`It was approved to be sent at ${notBefore} or later.`];
}

/** Verifies the signatures of the events, and whether their chains end in known roots. */
async function checkSignatures(
  { order }: Header,
  events: Iterable<EventLine>,
  { roots }: TrustedInputs,
  cryptography: Cryptography,
  differences: Differences,
): Promise<{ readonly proved: { readonly text: string; readonly seq: number }[]; readonly notes: string[] }> {
  const proved: { readonly text: string; readonly seq: number }[] = [];
  const later = new Set<string>();
  const all = [...events];
  const isWhole = all.every(({ content }) => content !== undefined);
  const revocations = all.flatMap((event) => revocationOf(event) ?? []);
  for (const event of all) {
    // A revocation is about a key, not about an order, so its signature doesn't matter.
    const signed = revocationOf(event) === undefined && (await checkSignedEvent(event, cryptography, order));
    if (!signed) continue;
    for (const fault of signed.wrong)
      differences.add('changed', `event ${event.seq}: its signature does not fit: ${fault}`);
    const strange = otherRoot(signed, roots);
    if (strange !== undefined) differences.add('key', `event ${event.seq}: ${strange}`);
    for (const { key, seq, text } of revocations.filter(({ key }) => signed.keys.includes(key))) {
      if (seq < event.seq)
        differences.add('key', `event ${event.seq}: its signature rests on ${key}, which had been ${text}`);
      else
        later.add(`The key ${key} was ${text}: it counts until then, and for nothing that was sent later.`);
    }
    proved.push({ text: `${signed.text} (event ${event.seq})`, seq: event.seq });
  }
  const notes =
    roots === undefined && proved.length > 0
      ? [
          'The roots weren’t given, so their owners aren’t known: compare them with those that the operator names (--roots).',
        ]
      : roots !== undefined && proved.length === 0
        ? [`No approval ${isWhole ? '' : 'that is left '}in it is signed, so the roots prove nothing.`]
        : [];
  return { proved, notes: [...notes, ...later] };
}
