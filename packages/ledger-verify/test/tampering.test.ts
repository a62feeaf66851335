import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DifferenceCode, Report, TrustedInputs } from '../src/index.ts';
import { nodeCryptography, verify } from '../src/index.ts';
import {
  canonical,
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

/* Changes to a ledger of random events are found from the file, the key's fingerprint and the anchors. */

const EVENTS = 500;
const ORDER = STATEMENT.order;
const STATEMENT_HASH = sha256(canonical(STATEMENT)).toString('hex');

const data = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 8 }),
  fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.integer(),
    fc.boolean(),
    fc.array(fc.string(), { maxLength: 3 }),
  ),
  { maxKeys: 5, noNullPrototype: true },
);
const events: Event[] = fc.sample(data, { numRuns: EVENTS, seed: 42 }).map((each, index) => ({
  type: 'event',
  seq: index + 1,
  at: new Date(Date.UTC(2026, 10, 1) + index * 1_000).toISOString(),
  kind: index % 97 === 0 ? 'approved' : 'name_changed',
  subject: index % 97 === 0 ? { kind: 'order', id: ORDER } : { kind: 'name', id: `n${index}.rest` },
  actor: 'U0ALICE',
  data: index % 97 === 0 ? { ...each, statement: STATEMENT_HASH } : each,
}));
const sizes = fc.sample(fc.integer({ min: 1, max: 13 }), { numRuns: EVENTS, seed: 7 });
const ledger = makeLedger(events, sizes);
const { lines, seals, signer } = ledger;
const lastSeal = seals.at(-1);

function toAnchor(seal: Seal | undefined) {
  return { n: seal?.n ?? 0, hash: hashSeal(seal) };
}

const KNOWN: TrustedInputs = {
  key: signer.fingerprint,
  anchors: [toAnchor(seals[9]), toAnchor(lastSeal)],
  roots: undefined,
};

async function* split(text: string) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 65_521) yield bytes.subarray(at, at + 65_521);
}

function verifyText(text: string, known: TrustedInputs = KNOWN): Promise<Report> {
  return verify(split(text), known, nodeCryptography);
}

function verifyLines(changed: readonly Line[], known?: TrustedInputs): Promise<Report> {
  return verifyText(formatLines(changed), known);
}

/** Verifies a file that must differ. */
async function findings(changed: readonly Line[], known?: TrustedInputs): Promise<readonly string[]> {
  const report = await verifyLines(changed, known);
  expect(report.verdict).toBe('differs');
  expect(report.proved).toEqual([]);
  return report.differences.map(({ code, text }) => `${code}: ${text}`);
}

function diff(code: DifferenceCode, text: string) {
  return expect.arrayContaining([expect.stringMatching(new RegExp(`^${code}: .*${text}`))]);
}

const findLine = (seq: number) => lines.findIndex((line) => line.type === 'event' && line['seq'] === seq);
const findSeal = (seq: number) => seals.find(({ to }) => to >= seq);
const changeLine = (at: number, change: object) =>
  lines.with(at, { ...(lines[at] ?? { type: '' }), ...change });
/** Events throughout the ledger, and at the start or end of the ledger or a seal. */
const SOME_SEQS = [1, 2, 3, EVENTS / 2, seals[40]?.to ?? 0, (seals[40]?.to ?? 0) + 1, EVENTS - 1];

describe('verifying a ledger', () => {
  it('proves an unchanged one', async () => {
    const report = await verifyLines(lines);
    expect(report).toMatchObject({
      verdict: 'proved',
      differences: [],
      events: { from: 1, to: EVENTS, count: EVENTS },
      seals: { from: 1, to: seals.length },
      anchored: { seal: lastSeal?.n },
    });
  });

  it.each(SOME_SEQS)('finds a change of event %i', async (seq) => {
    const where = diff('changed', `not what seal ${findSeal(seq)?.n} sealed`);
    expect(await findings(changeLine(findLine(seq), { actor: 'U0MALLORY' }))).toEqual(where);
  });

  it('finds any flipped bit', async () => {
    // A smaller ledger, because each flip needs a verification.
    const small = makeLedger(events.slice(0, 40), [7, 7, 7, 7, 7, 5]);
    const text = Buffer.from(formatLines(small.lines).trimEnd());
    const trusted = { key: small.signer.fingerprint, anchors: [], roots: undefined };
    expect((await verifyText(text.toString(), trusted)).verdict).toBe('proved');
    const flips = fc.record({ at: fc.nat(text.length - 1), bit: fc.nat(7) });
    await fc.assert(
      fc.asyncProperty(flips, async ({ at, bit }) => {
        const flipped = Buffer.from(text);
        flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << bit), at);
        const pieces = (async function* () {
          yield flipped;
        })();
        expect((await verify(pieces, trusted, nodeCryptography)).verdict).not.toBe('proved');
      }),
      { numRuns: EVENTS / 4 },
    );
  });

  it.each(SOME_SEQS)('finds that event %i is missing', async (seq) => {
    expect(await findings(lines.toSpliced(findLine(seq), 1))).toEqual(diff('dropped', `event ${seq}:`));
  });

  it.each(SOME_SEQS)('finds an event inserted after event %i', async (seq) => {
    const forged = { ...events[seq], type: 'event', seq, actor: 'U0MALLORY' };
    expect(await findings(lines.toSpliced(findLine(seq) + 1, 0, forged))).toEqual(
      diff('added', `event ${seq} appears twice`),
    );
  });

  it.each(SOME_SEQS)('finds an event inserted after event %i, with later ones renumbered', async (seq) => {
    const at = findLine(seq) + 1;
    const later = lines
      .slice(at)
      .map((line) => (line.type === 'event' ? { ...line, seq: Number(line['seq']) + 1 } : line));
    const forged = { ...events[seq], type: 'event', seq: seq + 1 };
    const all = await findings([...lines.slice(0, at), forged, ...later]);
    expect(all).toEqual(diff('cut', `event ${EVENTS + 1}: no seal follows .* it was added`));
    expect(all.length).toBeGreaterThan(1);
  });

  it.each(SOME_SEQS)('finds that event %i and the next one are swapped', async (seq) => {
    const [one, other] = [findLine(seq), findLine(seq + 1)];
    const [first, second] = [lines[one], lines[other]];
    if (first === undefined || second === undefined) throw new Error('no such event');
    expect(await findings(lines.with(one, second).with(other, first))).toEqual(diff('reordered', 'event'));
  });

  it.each(SOME_SEQS)('finds that event %i and the next one are swapped and renumbered', async (seq) => {
    const [one, other] = [findLine(seq), findLine(seq + 1)];
    const [first, second] = [lines[one], lines[other]];
    if (first === undefined || second === undefined) throw new Error('no such event');
    const swapped = lines.with(one, { ...second, seq }).with(other, { ...first, seq: seq + 1 });
    expect(await findings(swapped)).toEqual(diff('changed', `not what seal ${findSeal(seq)?.n} sealed`));
  });

  it.each(SOME_SEQS)('finds a duplicate of event %i', async (seq) => {
    const at = findLine(seq);
    const again = lines[at] ?? { type: '' };
    expect(await findings(lines.toSpliced(at, 0, again))).toEqual(
      diff('added', `event ${seq} appears twice`),
    );
    expect(await findings([...lines, again])).toEqual(diff('added', `event ${seq} appears twice`));
  });

  it('finds a missing, duplicate or moved seal', async () => {
    const at = lines.indexOf(seals[50] ?? { type: '' });
    const seal = lines[at] ?? { type: '' };
    expect(await findings(lines.toSpliced(at, 1))).toEqual(diff('dropped', 'seal 51:'));
    expect(await findings(lines.toSpliced(at, 0, seal))).toEqual(diff('added', 'seal 51 appears twice'));
    expect(await findings(lines.toSpliced(at, 1).toSpliced(at + 5, 0, seal))).toEqual(
      diff('reordered', 'before seal 51'),
    );
    expect(await findings(lines.toSpliced(at, 1).toSpliced(at - 1, 0, seal))).toEqual(
      diff('reordered', 'after the seal that covers it'),
    );
  });

  it('finds a missing end', async () => {
    const end = lines.indexOf(seals.at(-4) ?? { type: '' });
    expect(await findings(lines.slice(0, end + 1))).toEqual(diff('cut', 'the end is missing'));
    // Without a later anchor, a ledger without its last seals looks complete.
    const early = { ...KNOWN, anchors: [toAnchor(seals[9])] };
    expect((await verifyLines(lines.slice(0, end + 1), early)).verdict).toBe('proved');
    // A ledger that ends within a seal doesn't.
    expect(await findings(lines.slice(0, findLine(EVENTS / 2)), early)).toEqual(
      diff('cut', 'no seal follows'),
    );
  });

  it('finds a missing beginning', async () => {
    const [header = { type: '' }] = lines;
    const start = lines.indexOf(seals[20] ?? { type: '' }) + 1;
    const rest = [header, ...lines.slice(start)];
    expect(await findings(rest)).toEqual(diff('cut', 'the beginning is missing'));
    const without = await verifyLines(rest, { ...KNOWN, anchors: [] });
    expect(without.verdict).toBe('cannot_tell');
    expect(without.unknown[0]).toContain('begins with seal 22');
    const before = { ...KNOWN, anchors: [toAnchor(seals[20])] };
    expect((await verifyLines(rest, before)).verdict).toBe('proved');
    const other = { ...KNOWN, anchors: [{ n: 21, hash: hashSeal(seals[3]) }] };
    expect(await findings(rest, other)).toEqual(
      diff('changed', 'does not follow the seal 21 that was anchored'),
    );
    expect(await findings([header, ...lines.slice(3)])).toEqual(diff('dropped', 'event'));
  });

  it('finds a seal replaced by the same key’s seal over other events', async () => {
    const n = 51;
    const old = seals[n - 1];
    if (old === undefined) throw new Error('no such seal');
    const forged = events
      .slice(old.from - 1, old.to)
      .map((event): Event => ({ ...event, actor: 'U0MALLORY' }));
    const seal = makeSeal(signer, seals[n - 2], forged);
    const at = findLine(old.from);
    const changed = lines.toSpliced(at, forged.length + 1, ...forged, seal);
    expect(await findings(changed)).toEqual(diff('changed', `seal ${n + 1} does not follow seal ${n}`));
  });

  it('finds changed events that were sealed again with the same key', async () => {
    const forged = makeLedger(
      events.map((event): Event => ({ ...event, actor: 'U0MALLORY' })),
      sizes,
      signer,
    );
    expect(await findings(forged.lines)).toEqual(diff('changed', 'is not the one that was anchored'));
  });

  it('finds that all events were sealed again with another key', async () => {
    const other = makeLedger(events, sizes, makeSigner());
    expect(await findings(other.lines, { ...KNOWN, anchors: [] })).toEqual(diff('key', 'signed by'));
    expect(await findings(other.lines, { ...KNOWN, key: undefined })).toEqual(
      diff('changed', 'not the one that was anchored'),
    );
  });

  it('finds another key’s seals below the same header', async () => {
    const other = makeLedger(events, sizes, makeSigner());
    const [header = { type: '' }] = lines;
    expect(await findings([header, ...other.lines.slice(1)], { ...KNOWN, anchors: [] })).toEqual(
      diff('changed', 'the key has not signed seal 1'),
    );
  });

  it('reports forgotten events and who deleted them', async () => {
    const forget = (event: Event): Event => ({
      ...{ type: 'event', seq: event.seq, leaf: hashLeaf(event).toString('hex') },
      forgotten: { at: '2027-01-01T00:00:00.000Z', by: 'operator' },
    });
    const kept = lines.map((line) => {
      const event = events.find(
        ({ seq }) => seq === line['seq'] && line.type === 'event' && seq % (EVENTS / 10) === 0,
      );
      return event === undefined ? line : forget(event);
    });
    const report = await verifyLines(kept);
    expect(report.verdict).toBe('cannot_tell');
    expect(report.erasures).toEqual([expect.objectContaining({ count: 10, by: 'operator' })]);
    expect(report.unknown.join('\n')).toMatch(
      /^events \d+(, \d+){9}: without content, and no event in the file/,
    );
    // A wrong leaf.
    const at = findLine((EVENTS / 10) * 3);
    expect(await findings(kept.with(at, { ...kept[at], type: 'event', leaf: '0'.repeat(64) }))).toEqual(
      diff('changed', 'not what seal'),
    );
  });

  it('refuses a duplicate member', async () => {
    const text = formatLines(lines).replace('"actor":"U0ALICE"', '"actor":"U0MALLORY","actor":"U0ALICE"');
    expect((await verifyText(text)).differences[0]?.text).toBe('line 2 cannot be read as a line of a ledger');
  });

  it('finds null replaced by a number that serializes as null', async () => {
    const [event] = events;
    if (event === undefined) throw new Error('no events');
    const small = makeLedger([{ ...event, data: { price: null } }], [1]);
    const trusted = { ...KNOWN, key: small.signer.fingerprint, anchors: [] };
    expect((await verifyLines(small.lines, trusted)).verdict).toBe('proved');
    const text = formatLines(small.lines).replace('"price":null', '"price":1e999');
    expect((await verifyText(text, trusted)).verdict).toBe('differs');
  });

  it('can’t tell about other files', async () => {
    for (const text of ['', 'a,b\n', '{"type":"event"}\n', '{"type":"ledger","version":2}\n'])
      expect((await verifyText(text)).verdict).toBe('cannot_tell');
  });
});

describe('verifying a receipt', () => {
  const receipt = makeReceipt(ledger, ORDER);
  const numbers = receipt.flatMap((line, at) => (line.type === 'path' ? [at] : []));

  it('proves an unchanged one', async () => {
    const report = await verifyLines(receipt, { ...KNOWN, anchors: [] });
    expect(report).toMatchObject({
      verdict: 'proved',
      order: ORDER,
      events: { count: Math.ceil(EVENTS / 97) },
    });
    expect(report.proved.join('\n')).toContain(STATEMENT_HASH);
  });

  it.each(receipt.map((line, at) => [at, line.type] as const).filter(([at]) => at % 13 === 0 || at < 4))(
    'doesn’t prove one without line %i (%s)',
    async (at) => {
      const report = await verifyLines(receipt.toSpliced(at, 1), { ...KNOWN, anchors: [] });
      expect(report.verdict).not.toBe('proved');
      if (at > 0) expect(report.differences[0]?.code).toBe('dropped');
    },
  );

  it('finds swapped paths, and paths of another receipt', async () => {
    const [one = 0, other = 0] = numbers;
    const [first, second] = [receipt[one], receipt[other]];
    if (first === undefined || second === undefined) throw new Error('no paths');
    const swapped = receipt
      .with(one, { ...first, path: second['path'] })
      .with(other, { ...second, path: first['path'] });
    expect(await findings(swapped)).toEqual(diff('changed', 'event 1: it, or its path'));
    const elsewhere: Ledger = makeLedger(
      events,
      sizes.map((size) => size + 1),
      signer,
    );
    const paths = makeReceipt(elsewhere, ORDER).filter(({ type }) => type === 'path');
    const mixed = receipt.map((line) =>
      line.type === 'path' ? (paths.find(({ seq }) => seq === line['seq']) ?? line) : line,
    );
    expect(await findings(mixed)).toEqual(diff('changed', 'the path of event .* is not one into seal'));
  });

  it('finds a changed statement, event or order', async () => {
    const changed = { type: 'statement', statement: { ...STATEMENT, task: 'delete' } };
    expect(await findings(receipt.with(1, changed))).toEqual(
      diff('changed', 'the statement is not the one that event'),
    );
    expect(await findings(receipt.with(2, { ...receipt[2], type: 'event', actor: 'U0MALLORY' }))).toEqual(
      diff('changed', 'event 1: it, or its path'),
    );
    expect(await findings(receipt.with(0, { ...receipt[0], type: 'receipt', order: 'another' }))).toEqual(
      diff('changed', 'that of another order'),
    );
  });

  it('can’t prove a statement from its hash, but finds a wrong hash', async () => {
    const hashed = (hash: string) => verifyLines(receipt.with(1, { type: 'statement', hash }));
    expect(await hashed(STATEMENT_HASH)).toMatchObject({ verdict: 'cannot_tell', differences: [] });
    expect((await hashed('0'.repeat(64))).differences.map(({ code }) => code)).toEqual(['changed']);
  });

  it('finds any flipped bit', async () => {
    const small = makeLedger(events.slice(0, 200), [50, 50, 50, 50], signer);
    const text = Buffer.from(formatLines(makeReceipt(small, ORDER)).trimEnd());
    const trusted = {
      key: signer.fingerprint,
      anchors: seals.slice(0, 0).map(toAnchor),
      roots: undefined,
    };
    const flips = fc.record({ at: fc.nat(text.length - 1), bit: fc.nat(7) });
    await fc.assert(
      fc.asyncProperty(flips, async ({ at, bit }) => {
        const flipped = Buffer.from(text);
        flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << bit), at);
        const pieces = (async function* () {
          yield flipped;
        })();
        expect((await verify(pieces, trusted, nodeCryptography)).verdict).not.toBe('proved');
      }),
      { numRuns: EVENTS / 10 },
    );
  });
});

describe('verifying the ledger of a restored database', () => {
  const key = makeSigner();
  const before = makeLedger(events.slice(0, 6), [2, 2, 2], key);
  const resume = (kind: string, facts: object) => {
    const event = {
      ...events[2],
      seq: 3,
      kind,
      subject: { kind: 'ledger', id: 'ledger' },
      data: facts,
    } as Event;
    return makeLedger([...events.slice(0, 2), event], [2, 1], key);
  };
  const lost = {
    key: key.fingerprint,
    anchors: [toAnchor(before.seals[1])],
    roots: undefined,
  };

  it.each([
    ['database_restored', { takenAt: '2026-11-01T00:00:00.000Z', seal: 1 }],
    ['ledger_differs', { differences: [{ code: 'rolled_back', count: 1, first: 2 }] }],
  ])('finds that an anchor from the lost time differs, and explains it: %s', async (kind, facts) => {
    const report = await verifyLines(resume(kind, facts).lines, lost);
    expect(report.verdict).toBe('differs');
    expect(report.differences).toMatchObject([
      { code: 'changed', text: expect.stringContaining('it was replaced') },
    ]);
    expect(report.notes.join('\n')).toContain('Event 3 says that the database was put back from a backup');
    expect((await verifyLines(resume(kind, facts).lines, { ...lost, anchors: [] })).verdict).toBe('proved');
  });

  it('gives no explanation without such an event', async () => {
    const other = resume('ledger_differs', { differences: [{ code: 'event_changed', count: 1, first: 2 }] });
    expect((await verifyLines(other.lines, lost)).notes).toEqual([]);
  });
});
