import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DifferenceCode, Report, TrustedInputs } from '../src/index.ts';
import { nodeCryptography, verify } from '../src/index.ts';
import {
  canonicalize,
  type Event,
  formatLines,
  hashLeaf,
  hashSeal,
  type Ledger,
  type Line,
  makeLedger,
  makeReceipt,
  makeSeal,
  makeSigner,
  type Seal,
  STATEMENT,
  sha256,
} from './make-ledger.ts';

/* Verification detects tampering from the file alone, given the key's fingerprint and the anchors. */

const EVENT_COUNT = 500;
const ORDER_ID = STATEMENT.order;
const STATEMENT_HASH = sha256(canonicalize(STATEMENT)).toString('hex');

const eventDataArbitrary = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 8 }),
  fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.integer(),
    fc.boolean(),
    fc.array(fc.string(), { maxLength: 3 }),
  ),
  { maxKeys: 5, noNullPrototype: true },
);
const events: Event[] = fc
  .sample(eventDataArbitrary, { numRuns: EVENT_COUNT, seed: 42 })
  .map((eventData, index) => ({
    type: 'event',
    seq: index + 1,
    at: new Date(Date.UTC(2026, 10, 1) + index * 1_000).toISOString(),
    kind: index % 97 === 0 ? 'approved' : 'name_changed',
    subject: index % 97 === 0 ? { kind: 'order', id: ORDER_ID } : { kind: 'name', id: `n${index}.rest` },
    actor: 'U0ALICE',
    data: index % 97 === 0 ? { ...eventData, statement: STATEMENT_HASH } : eventData,
  }));
const sealSizes = fc.sample(fc.integer({ min: 1, max: 13 }), { numRuns: EVENT_COUNT, seed: 7 });
const ledger = makeLedger(events, sealSizes);
const { lines, seals, signer } = ledger;
const lastSeal = seals.at(-1);

function toAnchor(seal: Seal | undefined) {
  return { n: seal?.n ?? 0, hash: hashSeal(seal) };
}

const TRUSTED_INPUTS: TrustedInputs = {
  key: signer.fingerprint,
  anchors: [toAnchor(seals[9]), toAnchor(lastSeal)],
  roots: undefined,
};

async function* splitIntoChunks(text: string) {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += 65_521) yield bytes.subarray(start, start + 65_521);
}

function verifyText(text: string, trusted: TrustedInputs = TRUSTED_INPUTS): Promise<Report> {
  return verify(splitIntoChunks(text), trusted, nodeCryptography);
}

function verifyLines(fileLines: readonly Line[], trusted?: TrustedInputs): Promise<Report> {
  return verifyText(formatLines(fileLines), trusted);
}

/** Verifies a file that was tampered with. Returns each difference as `CODE: TEXT`. */
async function findDifferences(
  changedLines: readonly Line[],
  trusted?: TrustedInputs,
): Promise<readonly string[]> {
  const report = await verifyLines(changedLines, trusted);
  expect(report.verdict).toBe('differs');
  expect(report.proved).toEqual([]);
  return report.differences.map(({ code, text }) => `${code}: ${text}`);
}

function arrayWithDifference(code: DifferenceCode, textPattern: string) {
  return expect.arrayContaining([expect.stringMatching(new RegExp(`^${code}: .*${textPattern}`))]);
}

/** Flips random single bits of a file, and expects that no changed file is proved. */
async function expectFlippedBitsFound(file: Buffer, trusted: TrustedInputs, numRuns: number) {
  const flipArbitrary = fc.record({ index: fc.nat(file.length - 1), bit: fc.nat(7) });
  const property = fc.asyncProperty(flipArbitrary, async ({ index, bit }) => {
    const flipped = Buffer.from(file);
    flipped.writeUInt8(flipped.readUInt8(index) ^ (1 << bit), index);
    const chunks = (async function* () {
      yield flipped;
    })();
    expect((await verify(chunks, trusted, nodeCryptography)).verdict).not.toBe('proved');
  });
  await fc.assert(property, { numRuns });
}

const findEventLineIndex = (seq: number) =>
  lines.findIndex((line) => line.type === 'event' && line['seq'] === seq);
const findCoveringSeal = (seq: number) => seals.find(({ to }) => to >= seq);
const changeLine = (lineIndex: number, change: object) =>
  lines.with(lineIndex, { ...(lines[lineIndex] ?? { type: '' }), ...change });
/** Events throughout the ledger, and at the start or end of the ledger or a seal. */
const SAMPLE_SEQS = [1, 2, 3, EVENT_COUNT / 2, seals[40]?.to ?? 0, (seals[40]?.to ?? 0) + 1, EVENT_COUNT - 1];

describe('verifying a ledger', () => {
  it('proves an unchanged one', async () => {
    const report = await verifyLines(lines);
    expect(report).toMatchObject({
      verdict: 'proved',
      differences: [],
      events: { from: 1, to: EVENT_COUNT, count: EVENT_COUNT },
      seals: { from: 1, to: seals.length },
      anchored: { seal: lastSeal?.n },
    });
  });

  it.each(SAMPLE_SEQS)('finds a change of event %i', async (seq) => {
    const expectedDifference = arrayWithDifference(
      'changed',
      `not what seal ${findCoveringSeal(seq)?.n} sealed`,
    );
    expect(await findDifferences(changeLine(findEventLineIndex(seq), { actor: 'U0MALLORY' }))).toEqual(
      expectedDifference,
    );
  });

  it('finds any flipped bit', async () => {
    // A smaller ledger, because each flip needs a verification.
    const smallLedger = makeLedger(events.slice(0, 40), [7, 7, 7, 7, 7, 5]);
    const fileBytes = Buffer.from(formatLines(smallLedger.lines).trimEnd());
    const trusted = { key: smallLedger.signer.fingerprint, anchors: [], roots: undefined };
    expect((await verifyText(fileBytes.toString(), trusted)).verdict).toBe('proved');
    await expectFlippedBitsFound(fileBytes, trusted, EVENT_COUNT / 4);
  });

  it.each(SAMPLE_SEQS)('finds that event %i is missing', async (seq) => {
    expect(await findDifferences(lines.toSpliced(findEventLineIndex(seq), 1))).toEqual(
      arrayWithDifference('dropped', `event ${seq}:`),
    );
  });

  it.each(SAMPLE_SEQS)('finds an event inserted after event %i', async (seq) => {
    const forgedEvent = { ...events[seq], type: 'event', seq, actor: 'U0MALLORY' };
    expect(await findDifferences(lines.toSpliced(findEventLineIndex(seq) + 1, 0, forgedEvent))).toEqual(
      arrayWithDifference('added', `event ${seq} appears twice`),
    );
  });

  it.each(SAMPLE_SEQS)('finds an event inserted after event %i, with later ones renumbered', async (seq) => {
    const insertIndex = findEventLineIndex(seq) + 1;
    const laterLines = lines
      .slice(insertIndex)
      .map((line) => (line.type === 'event' ? { ...line, seq: Number(line['seq']) + 1 } : line));
    const forgedEvent = { ...events[seq], type: 'event', seq: seq + 1 };
    const differences = await findDifferences([...lines.slice(0, insertIndex), forgedEvent, ...laterLines]);
    expect(differences).toEqual(
      arrayWithDifference('cut', `event ${EVENT_COUNT + 1}: no seal follows .* it was added`),
    );
    expect(differences.length).toBeGreaterThan(1);
  });

  it.each(SAMPLE_SEQS)('finds that event %i and the next one are swapped', async (seq) => {
    const [firstIndex, secondIndex] = [findEventLineIndex(seq), findEventLineIndex(seq + 1)];
    const [first, second] = [lines[firstIndex], lines[secondIndex]];
    if (first === undefined || second === undefined) throw new Error('no such event');
    expect(await findDifferences(lines.with(firstIndex, second).with(secondIndex, first))).toEqual(
      arrayWithDifference('reordered', 'event'),
    );
  });

  it.each(SAMPLE_SEQS)('finds that event %i and the next one are swapped and renumbered', async (seq) => {
    const [firstIndex, secondIndex] = [findEventLineIndex(seq), findEventLineIndex(seq + 1)];
    const [first, second] = [lines[firstIndex], lines[secondIndex]];
    if (first === undefined || second === undefined) throw new Error('no such event');
    const swapped = lines.with(firstIndex, { ...second, seq }).with(secondIndex, { ...first, seq: seq + 1 });
    expect(await findDifferences(swapped)).toEqual(
      arrayWithDifference('changed', `not what seal ${findCoveringSeal(seq)?.n} sealed`),
    );
  });

  it.each(SAMPLE_SEQS)('finds a duplicate of event %i', async (seq) => {
    const lineIndex = findEventLineIndex(seq);
    const duplicateLine = lines[lineIndex] ?? { type: '' };
    expect(await findDifferences(lines.toSpliced(lineIndex, 0, duplicateLine))).toEqual(
      arrayWithDifference('added', `event ${seq} appears twice`),
    );
    expect(await findDifferences([...lines, duplicateLine])).toEqual(
      arrayWithDifference('added', `event ${seq} appears twice`),
    );
  });

  it('finds a missing, duplicate or moved seal', async () => {
    const sealIndex = lines.indexOf(seals[50] ?? { type: '' });
    const seal = lines[sealIndex] ?? { type: '' };
    expect(await findDifferences(lines.toSpliced(sealIndex, 1))).toEqual(
      arrayWithDifference('dropped', 'seal 51:'),
    );
    expect(await findDifferences(lines.toSpliced(sealIndex, 0, seal))).toEqual(
      arrayWithDifference('added', 'seal 51 appears twice'),
    );
    expect(await findDifferences(lines.toSpliced(sealIndex, 1).toSpliced(sealIndex + 5, 0, seal))).toEqual(
      arrayWithDifference('reordered', 'before seal 51'),
    );
    expect(await findDifferences(lines.toSpliced(sealIndex, 1).toSpliced(sealIndex - 1, 0, seal))).toEqual(
      arrayWithDifference('reordered', 'after the seal that covers it'),
    );
  });

  it('finds a missing end', async () => {
    const lastSealIndex = lines.indexOf(seals.at(-4) ?? { type: '' });
    expect(await findDifferences(lines.slice(0, lastSealIndex + 1))).toEqual(
      arrayWithDifference('cut', 'the end is missing'),
    );
    // Without a later anchor, a ledger without its last seals looks complete.
    const trustedWithEarlyAnchor = { ...TRUSTED_INPUTS, anchors: [toAnchor(seals[9])] };
    expect((await verifyLines(lines.slice(0, lastSealIndex + 1), trustedWithEarlyAnchor)).verdict).toBe(
      'proved',
    );
    // A ledger without the seal of its last events looks cut off.
    expect(
      await findDifferences(lines.slice(0, findEventLineIndex(EVENT_COUNT / 2)), trustedWithEarlyAnchor),
    ).toEqual(arrayWithDifference('cut', 'no seal follows'));
  });

  it('finds a missing beginning', async () => {
    const [header = { type: '' }] = lines;
    const start = lines.indexOf(seals[20] ?? { type: '' }) + 1;
    const rest = [header, ...lines.slice(start)];
    expect(await findDifferences(rest)).toEqual(arrayWithDifference('cut', 'the beginning is missing'));
    const reportWithoutAnchors = await verifyLines(rest, { ...TRUSTED_INPUTS, anchors: [] });
    expect(reportWithoutAnchors.verdict).toBe('cannot_tell');
    expect(reportWithoutAnchors.unknown[0]).toContain('begins with seal 22');
    const trustedWithAnchorBeforeCut = { ...TRUSTED_INPUTS, anchors: [toAnchor(seals[20])] };
    expect((await verifyLines(rest, trustedWithAnchorBeforeCut)).verdict).toBe('proved');
    const trustedWithWrongAnchor = { ...TRUSTED_INPUTS, anchors: [{ n: 21, hash: hashSeal(seals[3]) }] };
    expect(await findDifferences(rest, trustedWithWrongAnchor)).toEqual(
      arrayWithDifference('changed', 'does not follow the seal 21 that was anchored'),
    );
    expect(await findDifferences([header, ...lines.slice(3)])).toEqual(
      arrayWithDifference('dropped', 'event'),
    );
  });

  it('finds a seal replaced by the same key’s seal over other events', async () => {
    const n = 51;
    const oldSeal = seals[n - 1];
    if (oldSeal === undefined) throw new Error('no such seal');
    const forgedEvents = events
      .slice(oldSeal.from - 1, oldSeal.to)
      .map((event): Event => ({ ...event, actor: 'U0MALLORY' }));
    const forgedSeal = makeSeal(signer, seals[n - 2], forgedEvents);
    const firstEventIndex = findEventLineIndex(oldSeal.from);
    const changedLines = lines.toSpliced(
      firstEventIndex,
      forgedEvents.length + 1,
      ...forgedEvents,
      forgedSeal,
    );
    expect(await findDifferences(changedLines)).toEqual(
      arrayWithDifference('changed', `seal ${n + 1} does not follow seal ${n}`),
    );
  });

  it('finds changed events that were sealed again with the same key', async () => {
    const forgedLedger = makeLedger(
      events.map((event): Event => ({ ...event, actor: 'U0MALLORY' })),
      sealSizes,
      signer,
    );
    expect(await findDifferences(forgedLedger.lines)).toEqual(
      arrayWithDifference('changed', 'is not the one that was anchored'),
    );
  });

  it('finds that all events were sealed again with another key', async () => {
    const otherLedger = makeLedger(events, sealSizes, makeSigner());
    expect(await findDifferences(otherLedger.lines, { ...TRUSTED_INPUTS, anchors: [] })).toEqual(
      arrayWithDifference('key', 'signed by'),
    );
    expect(await findDifferences(otherLedger.lines, { ...TRUSTED_INPUTS, key: undefined })).toEqual(
      arrayWithDifference('changed', 'not the one that was anchored'),
    );
  });

  it('finds another key’s seals below the same header', async () => {
    const otherLedger = makeLedger(events, sealSizes, makeSigner());
    const [header = { type: '' }] = lines;
    expect(
      await findDifferences([header, ...otherLedger.lines.slice(1)], { ...TRUSTED_INPUTS, anchors: [] }),
    ).toEqual(arrayWithDifference('changed', 'the key has not signed seal 1'));
  });

  it('reports forgotten events and who deleted them', async () => {
    const forget = (event: Event): Event => ({
      ...{ type: 'event', seq: event.seq, leaf: hashLeaf(event).toString('hex') },
      forgotten: { at: '2027-01-01T00:00:00.000Z', by: 'operator' },
    });
    const linesWithErasures = lines.map((line) => {
      const event = events.find(
        ({ seq }) => seq === line['seq'] && line.type === 'event' && seq % (EVENT_COUNT / 10) === 0,
      );
      return event === undefined ? line : forget(event);
    });
    const report = await verifyLines(linesWithErasures);
    expect(report.verdict).toBe('cannot_tell');
    expect(report.erasures).toEqual([expect.objectContaining({ count: 10, by: 'operator' })]);
    expect(report.unknown.join('\n')).toMatch(
      /^events \d+(, \d+){9}: without content, and no event in the file/,
    );
    // A deleted event with the wrong leaf hash.
    const erasedIndex = findEventLineIndex((EVENT_COUNT / 10) * 3);
    expect(
      await findDifferences(
        linesWithErasures.with(erasedIndex, {
          ...linesWithErasures[erasedIndex],
          type: 'event',
          leaf: '0'.repeat(64),
        }),
      ),
    ).toEqual(arrayWithDifference('changed', 'not what seal'));
  });

  it('finds a line with a duplicate member', async () => {
    const text = formatLines(lines).replace('"actor":"U0ALICE"', '"actor":"U0MALLORY","actor":"U0ALICE"');
    expect((await verifyText(text)).differences[0]?.text).toBe('line 2 cannot be read as a line of a ledger');
  });

  it('finds null replaced by a number that serializes as null', async () => {
    const [event] = events;
    if (event === undefined) throw new Error('no events');
    const smallLedger = makeLedger([{ ...event, data: { price: null } }], [1]);
    const trusted = { ...TRUSTED_INPUTS, key: smallLedger.signer.fingerprint, anchors: [] };
    expect((await verifyLines(smallLedger.lines, trusted)).verdict).toBe('proved');
    const text = formatLines(smallLedger.lines).replace('"price":null', '"price":1e999');
    expect((await verifyText(text, trusted)).verdict).toBe('differs');
  });

  it('gives no verdict on files that aren’t ledgers', async () => {
    for (const text of ['', 'a,b\n', '{"type":"event"}\n', '{"type":"ledger","version":2}\n'])
      expect((await verifyText(text)).verdict).toBe('cannot_tell');
  });
});

describe('verifying a receipt', () => {
  const receipt = makeReceipt(ledger, ORDER_ID);
  const pathLineIndexes = receipt.flatMap((line, index) => (line.type === 'path' ? [index] : []));

  it('proves an unchanged one', async () => {
    const report = await verifyLines(receipt, { ...TRUSTED_INPUTS, anchors: [] });
    expect(report).toMatchObject({
      verdict: 'proved',
      order: ORDER_ID,
      events: { count: Math.ceil(EVENT_COUNT / 97) },
    });
    expect(report.proved.join('\n')).toContain(STATEMENT_HASH);
  });

  it.each(
    receipt
      .map((line, lineIndex) => [lineIndex, line.type] as const)
      .filter(([at]) => at % 13 === 0 || at < 4),
  )('doesn’t prove one without line %i (%s)', async (lineIndex) => {
    const report = await verifyLines(receipt.toSpliced(lineIndex, 1), { ...TRUSTED_INPUTS, anchors: [] });
    expect(report.verdict).not.toBe('proved');
    if (lineIndex > 0) expect(report.differences[0]?.code).toBe('dropped');
  });

  it('finds swapped paths, and paths of another receipt', async () => {
    const [firstIndex = 0, secondIndex = 0] = pathLineIndexes;
    const [first, second] = [receipt[firstIndex], receipt[secondIndex]];
    if (first === undefined || second === undefined) throw new Error('no paths');
    const swapped = receipt
      .with(firstIndex, { ...first, path: second['path'] })
      .with(secondIndex, { ...second, path: first['path'] });
    expect(await findDifferences(swapped)).toEqual(
      arrayWithDifference('changed', 'event 1: it, or its path'),
    );
    const otherLedger: Ledger = makeLedger(
      events,
      sealSizes.map((size) => size + 1),
      signer,
    );
    const otherPaths = makeReceipt(otherLedger, ORDER_ID).filter(({ type }) => type === 'path');
    const receiptWithOtherPaths = receipt.map((line) =>
      line.type === 'path' ? (otherPaths.find(({ seq }) => seq === line['seq']) ?? line) : line,
    );
    expect(await findDifferences(receiptWithOtherPaths)).toEqual(
      arrayWithDifference('changed', 'the path of event .* is not one into seal'),
    );
  });

  it('finds a changed statement, event or order', async () => {
    const changedStatement = { type: 'statement', statement: { ...STATEMENT, task: 'delete' } };
    expect(await findDifferences(receipt.with(1, changedStatement))).toEqual(
      arrayWithDifference('changed', 'the statement is not the one that event'),
    );
    expect(
      await findDifferences(receipt.with(2, { ...receipt[2], type: 'event', actor: 'U0MALLORY' })),
    ).toEqual(arrayWithDifference('changed', 'event 1: it, or its path'));
    expect(
      await findDifferences(receipt.with(0, { ...receipt[0], type: 'receipt', order: 'another' })),
    ).toEqual(arrayWithDifference('changed', 'that of another order'));
  });

  it('can’t prove a statement from its hash, but finds a wrong hash', async () => {
    const verifyWithStatementHash = (hash: string) =>
      verifyLines(receipt.with(1, { type: 'statement', hash }));
    expect(await verifyWithStatementHash(STATEMENT_HASH)).toMatchObject({
      verdict: 'cannot_tell',
      differences: [],
    });
    expect((await verifyWithStatementHash('0'.repeat(64))).differences.map(({ code }) => code)).toEqual([
      'changed',
    ]);
  });

  it('finds any flipped bit', async () => {
    const smallLedger = makeLedger(events.slice(0, 200), [50, 50, 50, 50], signer);
    const fileBytes = Buffer.from(formatLines(makeReceipt(smallLedger, ORDER_ID)).trimEnd());
    await expectFlippedBitsFound(fileBytes, { ...TRUSTED_INPUTS, anchors: [] }, EVENT_COUNT / 10);
  });
});

describe('verifying the ledger of a restored database', () => {
  const key = makeSigner();
  const ledgerBeforeRestore = makeLedger(events.slice(0, 6), [2, 2, 2], key);
  const makeRestoredLedger = (kind: string, eventData: object) => {
    const event = {
      ...events[2],
      seq: 3,
      kind,
      subject: { kind: 'ledger', id: 'ledger' },
      data: eventData,
    } as Event;
    return makeLedger([...events.slice(0, 2), event], [2, 1], key);
  };
  const trustedWithLostAnchor = {
    key: key.fingerprint,
    anchors: [toAnchor(ledgerBeforeRestore.seals[1])],
    roots: undefined,
  };

  it.each([
    ['database_restored', { takenAt: '2026-11-01T00:00:00.000Z', seal: 1 }],
    ['ledger_differs', { differences: [{ code: 'rolled_back', count: 1, first: 2 }] }],
  ])('finds that an anchor from the lost time differs, and explains it: %s', async (kind, facts) => {
    const report = await verifyLines(makeRestoredLedger(kind, facts).lines, trustedWithLostAnchor);
    expect(report.verdict).toBe('differs');
    expect(report.differences).toMatchObject([
      { code: 'changed', text: expect.stringContaining('it was replaced') },
    ]);
    expect(report.notes.join('\n')).toContain('Event 3 says that the database was put back from a backup');
    expect(
      (await verifyLines(makeRestoredLedger(kind, facts).lines, { ...trustedWithLostAnchor, anchors: [] }))
        .verdict,
    ).toBe('proved');
  });

  it('gives no explanation without such an event', async () => {
    const ledgerWithoutRestore = makeRestoredLedger('ledger_differs', {
      differences: [{ code: 'event_changed', count: 1, first: 2 }],
    });
    expect((await verifyLines(ledgerWithoutRestore.lines, trustedWithLostAnchor)).notes).toEqual([]);
  });
});
