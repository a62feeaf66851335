import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createVault } from '../../src/accounts/vault.ts';
import type { LedgerDifference } from '../../src/ledger/difference.ts';
import { createLedgerKey, parseLedgerKey } from '../../src/ledger/key.ts';
import { openLedgerKey } from '../../src/ledger/ledger.ts';
import { createEventLog } from '../../src/store/events.ts';
import { forgetPerson } from '../../src/store/forget-person.ts';
import { createLedgerKeyStore } from '../../src/store/ledger.ts';
import { withSession } from '../../src/store/session.ts';
import { collectRows, secondsLater } from '../store/order-rig.ts';
import { formatLines, HOUR_MS, type LedgerRig, startLedgerRig, tamper, verifyText } from './rig.ts';

let rig: LedgerRig;
beforeEach(async () => {
  rig = await startLedgerRig();
});
afterEach(() => rig.close());

/** Writes and seals events: one seal for each number. */
async function sealEvents(...sizes: readonly number[]): Promise<void> {
  for (const size of sizes) {
    await rig.writeEvents(size);
    await rig.running.runOnce();
  }
}

async function sealOldEvents(size: number): Promise<void> {
  await rig.writeEvents(size, secondsLater(0));
  await rig.running.runOnce();
}

const file = () => formatLines(rig.createProcessLedger().streamFile());
const newest = async () => {
  const seal = await rig.ledgerStore.findNewestSeal();
  if (seal === undefined) throw new Error('no seal found');
  return seal;
};
/** Loads the reported differences, oldest first. */
async function listReports(): Promise<readonly (readonly LedgerDifference[])[]> {
  const rows = await rig.sql(`SELECT data FROM events WHERE kind = 'ledger_differs' ORDER BY seq`);
  return rows.map(({ data }) => (data as { differences: LedgerDifference[] }).differences);
}

describe('sealing', () => {
  test('creates a ledger that the independent verifier proves', async () => {
    await sealEvents(1, 7, 30);
    const report = await verifyText(await file(), { key: rig.key.fingerprint, anchors: [await newest()] });
    expect(report).toMatchObject({ verdict: 'proved', events: { count: 38 }, seals: { from: 1, to: 3 } });
  });

  test('includes events that commit late, and numbers events without gaps', async () => {
    await rig.writeEvents();
    const late = await rig.database.transaction(async (run) => {
      const insert = `INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
        VALUES ('name', 'late.rest', 'name_watched', 'U0BOB', now(), '{}')`;
      await run({ text: insert, values: [] });
      // The next event in the log is sealed before this one commits.
      await sealEvents(1);
      return newest();
    });
    expect(late.to).toBe(2);
    await rig.database
      .transaction(async (run) => {
        await run({ text: `SELECT nextval('events_seq_seq')`, values: [] });
        throw new Error('rolled back');
      })
      .catch(() => undefined);
    await sealEvents(1);
    expect(await newest()).toMatchObject({ n: 2, from: 3, to: 4 });
    expect(await verifyText(await file())).toMatchObject({ verdict: 'proved', events: { count: 4 } });
  });

  test('in several processes at once creates one chain, with every event sealed once', async () => {
    for (let round = 0; round < 4; round += 1) {
      await rig.writeEvents(5);
      await Promise.all(Array.from({ length: 4 }, () => rig.createProcessLedger().runOnce()));
    }
    await rig.createProcessLedger().runOnce();
    expect(await verifyText(await file())).toMatchObject({ verdict: 'proved', events: { count: 20 } });
    expect(await rig.sql('SELECT FROM unsealed_events')).toEqual([]);
  });

  test('stops and warns if another key has signed the latest seal', async () => {
    await sealEvents(2);
    const other = { key: parseLedgerKey(createLedgerKey()) };
    await rig.writeEvents(2);
    await rig.createProcessLedger(other).runOnce();
    expect(await newest()).toMatchObject({ n: 1 });
    await rig.createProcessLedger(other).checkIfDue();
    expect(await listReports()).toEqual([[{ code: 'other_key', count: 1, first: 1 }]]);
  });

  test('warns once if events stay unsealed', async () => {
    await rig.writeEvents();
    await rig.sql(`UPDATE unsealed_events SET since = now() - interval '61 s'`);
    const idle = rig.createProcessLedger({ key: undefined });
    await idle.runOnce();
    await idle.runOnce();
    expect(await rig.sql(`SELECT FROM events WHERE kind = 'sealing_stalled'`)).toHaveLength(1);
    expect(await rig.sql(`SELECT FROM notifications WHERE subject_kind = 'event'`)).toHaveLength(1);
  });
});

describe('anchors', () => {
  test('are published at most once an hour, and only for new seals', async () => {
    const anchors = async () => (await rig.ledgerStore.listAnchors()).map(({ n }) => n);
    await sealEvents(1, 1);
    expect(await anchors()).toEqual([]);
    rig.advanceClock(HOUR_MS);
    await sealEvents(1, 1);
    expect(await anchors()).toEqual([3]);
    rig.advanceClock(HOUR_MS);
    await rig.running.runOnce();
    expect(await anchors()).toEqual([3, 4]);
    rig.advanceClock(HOUR_MS);
    await rig.running.runOnce();
    expect(await anchors()).toEqual([3, 4]);
    expect(
      await rig.sql(`SELECT subject_id, version FROM notifications WHERE subject_kind = 'anchors'`),
    ).toEqual([{ subject_id: '2026-11-25', version: 2 }]);
  });
});

describe('checking the ledger', () => {
  test('finds nothing in an intact ledger', async () => {
    await sealEvents(3, 1, 12);
    rig.advanceClock(HOUR_MS);
    await sealEvents(2);
    await rig.createProcessLedger().checkIfDue();
    expect(await listReports()).toEqual([]);
  });

  test.each<[statement: string, codes: LedgerDifference['code'][]]>([
    [`UPDATE events SET actor = 'U0MALLORY' WHERE seq = 5`, ['event_changed']],
    ['DELETE FROM events WHERE seq = 5', ['event_gone']],
    [
      `INSERT INTO events (subject_kind, subject_id, kind, actor, at, data) VALUES ('name', 'a.rest', 'name_watched', 'U0MALLORY', now(), '{}')`,
      ['event_unsealed'],
    ],
    [`UPDATE seals SET root = repeat('0', 64) WHERE n = 2`, ['seal_changed']],
    ['DELETE FROM seals WHERE n = 2', ['seal_gone']],
    ['DELETE FROM ledger_entries WHERE seq = 5', ['seal_changed', 'event_unsealed']],
    [`UPDATE ledger_entries SET leaf = sha256('') WHERE seq = 5`, ['seal_changed', 'event_changed']],
    [`UPDATE anchors SET hash = repeat('0', 64)`, ['anchor_differs']],
  ])('finds a database change: %s', async (statement, codes) => {
    await sealEvents(3, 7);
    rig.advanceClock(HOUR_MS);
    await sealEvents(4);
    await tamper(rig, statement);
    const ledger = rig.createProcessLedger({
      anchorFile: { load: async () => undefined, save: async () => undefined },
    });
    await ledger.checkIfDue();
    const [found = []] = await listReports();
    expect(new Set(found.map(({ code }) => code))).toEqual(new Set(codes));
    expect(await rig.sql(`SELECT FROM notifications WHERE subject_kind = 'event'`)).toHaveLength(1);
    rig.advanceClock(HOUR_MS);
    await ledger.checkIfDue();
    expect(await listReports(), 'reports of the same difference').toHaveLength(1);
  });

  test('finds a change within an hour', async () => {
    const ledger = rig.createProcessLedger();
    await sealEvents(3);
    await ledger.checkIfDue();
    await tamper(rig, `UPDATE events SET actor = 'U0MALLORY' WHERE seq = 2`);
    rig.advanceClock(HOUR_MS - 1);
    await ledger.checkIfDue();
    expect(await listReports()).toEqual([]);
    rig.advanceClock(1);
    await ledger.checkIfDue();
    expect(await listReports()).toEqual([[{ code: 'event_changed', count: 1, first: 2 }]]);
  });

  test('finds a restored earlier state, also after new seals', async () => {
    await sealEvents(2);
    rig.advanceClock(HOUR_MS);
    await sealEvents(2);
    // Like a backup from before the second seal.
    await tamper(rig, 'DELETE FROM seals WHERE n = 2');
    await tamper(rig, 'DELETE FROM ledger_entries WHERE seq > 2');
    await tamper(rig, 'DELETE FROM events WHERE seq > 2');
    await tamper(rig, 'DELETE FROM anchors');
    await rig.createProcessLedger().checkIfDue();
    expect(await listReports()).toEqual([[{ code: 'rolled_back', count: 1, first: 2 }]]);
    await rig.writeEvents();
    const elsewhere = { load: async () => undefined, save: async () => undefined };
    await rig.createProcessLedger({ anchorFile: elsewhere }).runOnce();
    await rig.createProcessLedger().checkIfDue();
    expect((await listReports()).at(-1)).toEqual([{ code: 'other_history', count: 1, first: 2 }]);
  });

  test('finds a restored earlier state before it reuses a seal’s number', async () => {
    await sealEvents(2);
    rig.advanceClock(HOUR_MS);
    await sealEvents(2, 2);
    await tamper(rig, 'DELETE FROM seals WHERE n > 1');
    await tamper(rig, 'DELETE FROM ledger_entries WHERE seq > 2');
    await tamper(rig, 'DELETE FROM events WHERE seq > 2');
    await tamper(rig, 'DELETE FROM anchors');
    await rig.writeEvents();
    // A starting process seals before it has checked the whole ledger.
    const starting = rig.createProcessLedger();
    await starting.runOnce();
    expect(await listReports()).toEqual([[{ code: 'rolled_back', count: 1, first: 2 }]]);
    expect(await rig.sql(`SELECT FROM notifications WHERE subject_kind = 'event'`)).toHaveLength(1);
    const first = (await file()).split('\n').find((line) => line.includes('"rolled_back"'));
    const seal = await newest();
    expect(seal.n, 'number of the seal with the report').toBe(2);
    expect(JSON.parse(first ?? '{}')).toMatchObject({ kind: 'ledger_differs', seq: seal.to });
    rig.advanceClock(HOUR_MS);
    await sealEvents(1);
    await starting.runOnce();
    expect(await listReports(), 'reports of the rollback').toHaveLength(1);
  });

  test('finds nothing at the start if the anchored seals exist', async () => {
    await sealEvents(2);
    rig.advanceClock(HOUR_MS);
    await sealEvents(2);
    await rig.writeEvents();
    await rig.createProcessLedger().runOnce();
    expect(await listReports()).toEqual([]);
  });
});

describe('the receipt of an order', () => {
  test('proves its events up to the next anchor', async () => {
    await sealEvents(5);
    const { order, statement } = await rig.createOrder();
    await sealEvents(20, 3);
    rig.advanceClock(HOUR_MS);
    await sealEvents(2);
    const anchored = await newest();
    await sealEvents(2);
    const text = await formatLines(await rig.createProcessLedger().buildReceipt(order, statement));
    const report = await verifyText(text, { key: rig.key.fingerprint, anchors: [anchored] });
    expect(report).toMatchObject({
      ...{ verdict: 'proved', differences: [], order: order.id },
      ...{ events: { count: 2 }, seals: { from: 2, to: 4 }, anchored: { seal: 4 } },
    });
    const forged = text.replace('U0BOB', 'U0EVE');
    expect((await verifyText(forged)).differences.map(({ code }) => code)).toEqual(['changed']);
  });
});

describe('the receipt of a signed order', () => {
  const key = (letter: string) => `SHA256:${letter.repeat(43)}`;
  const revoke = (fingerprint: string) =>
    rig.sql(
      `INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
       VALUES ('key', $1, 'key_revoked', 'system', now(), '{"owner":"U0BOB","left":true}')`,
      [fingerprint],
    );

  test('includes earlier and later revocations of the keys it depends on', async () => {
    await sealEvents(3);
    await revoke(key('v'));
    await revoke(key('x'));
    await sealEvents(1);
    const { order, statement } = await rig.createOrder({
      signature: { key: key('s') },
      chain: [{ key: key('v') }, { key: key('r') }],
    });
    await sealEvents(2);
    await revoke(key('s'));
    await sealEvents(1);
    const lines = (await rig.createProcessLedger().buildReceipt(order, statement)) ?? [];
    const subjectIds = lines.flatMap((line) => ('subject' in line ? [line.subject.id] : []));
    expect(subjectIds).toEqual([key('v'), order.id, order.id, key('s')]);
    const report = await verifyText(await formatLines(lines));
    const others = report.differences.filter(({ text }) => !text.includes('its signature does not fit'));
    expect(others).toMatchObject([{ code: 'key', text: expect.stringContaining(`rests on ${key('v')}`) }]);
  });
});

describe('forgotten events', () => {
  test('lose their content but keep their hash, and who deleted it', async () => {
    await sealOldEvents(3);
    await rig.writeEvents(2, secondsLater(0));
    await rig.sql(`SELECT delete_old_events('infinity', 'operator')`);
    expect(JSON.stringify(await rig.sql('SELECT * FROM events'))).not.toContain('because of');
    await sealEvents(2);
    const report = await verifyText(await file());
    expect(report).toMatchObject({ verdict: 'proved', events: { count: 8 } });
    expect(report.erasures).toMatchObject([{ count: 5, by: 'operator' }]);
    await rig.createProcessLedger().checkIfDue();
    expect(await listReports()).toEqual([]);
    const log = await collectRows(createEventLog(rig.database, '').read(new Date(0), secondsLater(10 ** 9)));
    expect(log).toMatchObject([
      { event: { kind: 'name_watched' } },
      { event: { kind: 'name_watched' } },
      { event: { kind: 'events_forgotten', actor: 'operator', reason: 'age', count: 5, seqs: [[1, 3]] } },
    ]);
  });

  test('are reported if no event explains them, even though their hash matches', async () => {
    await sealOldEvents(3);
    await rig.sql(`SELECT delete_old_events('infinity', 'operator')`);
    await sealEvents(2);
    await tamper(
      rig,
      `UPDATE events SET actor = 'system', data = '{}', forgotten_at = now(), forgotten_by = 'operator'
       WHERE seq = (SELECT max(seq) FROM events)`,
    );
    await rig.createProcessLedger().checkIfDue();
    expect(await listReports()).toEqual([[{ code: 'event_hidden', count: 1, first: expect.any(Number) }]]);
  });

  test('are checked one by one, so that one unexplained event is found among explained ones', async () => {
    await sealEvents(3);
    await rig.sql(`INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
      VALUES ('person', 'U0GONE', 'stand_in_changed', 'U0GONE', now(), '{"of": "U0ALSO"}')`);
    await sealEvents(1);
    for (const person of ['U0GONE', 'U0ALSO'])
      await rig.sql(`SELECT forget_person_in_events('${person}', 'operator')`);
    await rig.createProcessLedger().runOnce();
    await rig.createProcessLedger().checkIfDue();
    expect(await listReports()).toEqual([]);
    expect(await verifyText(await file())).toMatchObject({ verdict: 'proved', unknown: [] });
    await tamper(
      rig,
      `UPDATE events SET actor = 'system', data = '{}', forgotten_at = now(), forgotten_by = 'operator'
       WHERE seq = (SELECT event_seq FROM ledger_entries WHERE seq = 2)`,
    );
    await rig.createProcessLedger().checkIfDue();
    expect(await listReports()).toEqual([[{ code: 'event_hidden', count: 1, first: 2 }]]);
    expect(await verifyText(await file())).toMatchObject({
      verdict: 'cannot_tell',
      unknown: [expect.stringContaining('event 2: without content')],
    });
  });

  test('of a person are all events that mention them', async () => {
    await sealEvents(1);
    await rig.sql(`INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
      VALUES ('person', 'U0GONE', 'stand_in_changed', 'U0GONE', now(), '{}')`);
    await sealEvents(1);
    await rig.sql(`SELECT forget_person_in_events('U0GONE', 'operator')`);
    await rig.createProcessLedger().runOnce();
    const text = await file();
    expect(text).not.toContain('U0GONE');
    const report = await verifyText(text);
    expect(report).toMatchObject({ verdict: 'proved', erasures: [{ count: 1, by: 'operator' }] });
  });
});

describe('the receipt of an order with a forgotten person', () => {
  async function afterForgetting(person: string) {
    const { order } = await rig.createOrder();
    await sealEvents(1);
    await rig.sql('UPDATE orders SET closed_at = now()');
    await withSession(rig.url, (client) => forgetPerson(client, person, { dryRun: false }));
    const text = await rig.buildReceiptText(order.id);
    expect(text).not.toContain(person);
    return { report: await verifyText(text), order };
  }

  test('proves the rest, and says that the approval was forgotten', async () => {
    const { report, order } = await afterForgetting('U0BOB');
    expect(report).toMatchObject({ verdict: 'proved', differences: [], erasures: [{ count: 1 }] });
    expect(report.proved.join('\n')).toContain(
      `The statement (${order.statementHash}) is the one that event 1`,
    );
    expect(report.notes.join('\n')).toMatch(
      /The content of 1 event was deleted by .*, but signatures in it can no longer be verified\./,
    );
  });

  test('can’t prove the statement without the requester’s account, but reports no difference', async () => {
    const { report, order } = await afterForgetting('U0ALICE');
    expect(report).toMatchObject({ verdict: 'cannot_tell', differences: [] });
    expect(report.unknown).toEqual([
      expect.stringMatching(
        new RegExp(`only its hash \\(${order.statementHash}\\).*a person in it was forgotten`),
      ),
    ]);
  });
});

describe('the key that the bot generates', () => {
  const openKey = async (...ids: [string, ...string[]]) => {
    const [first, ...rest] = ids.map((id) => ({ id, key: Buffer.alloc(32, id) }));
    if (first === undefined) throw new Error('no key');
    const parts = {
      store: createLedgerKeyStore(rig.database, ''),
      teamId: '',
      vault: createVault([first, ...rest]),
    };
    return openLedgerKey(undefined, parts);
  };

  test('is stored, resealed when the credentials keys change, and can’t be opened without them', async () => {
    const { fingerprint } = await openKey('a');
    expect((await openKey('a')).fingerprint).toBe(fingerprint);
    expect((await openKey('b', 'a')).fingerprint).toBe(fingerprint);
    expect((await openKey('b')).fingerprint).toBe(fingerprint);
    await expect(openKey('a')).rejects.toThrow('key "b" is not in CREDENTIALS_KEYS');
  });
});

test('the ledger is append-only', async () => {
  await sealEvents(2);
  rig.advanceClock(HOUR_MS);
  await sealEvents(2);
  for (const table of ['seals', 'ledger_entries', 'anchors']) {
    for (const statement of [
      `UPDATE ${table} SET team_id = 'T0'`,
      `DELETE FROM ${table}`,
      `TRUNCATE ${table}`,
    ])
      await expect(rig.sql(statement)).rejects.toThrow(`${table} are only added`);
  }
});
