import { afterEach, beforeEach, expect, test } from 'vitest';
import { createCharterWatch } from '../../src/approvals/charter-watch.ts';
import { createVerifier, parseRelyingParty } from '../../src/approvals/signing/assertion.ts';
import { createLog } from '../../src/lib/log.ts';
import type { OrderSigning } from '../../src/orders/ports.ts';
import { needsSignatures } from '../../src/policy/policy.ts';
import type { Database } from '../../src/store/database.ts';
import { VerifiedSigningLog } from '../../src/store/known-key-log.ts';
import { createKeyStore } from '../../src/store/signing.ts';
import { readLastEventHash } from '../../src/store/signing-rows.ts';
import { newPolicyRule } from '../policy/sample.ts';
import { newSigner, signRevocation, signVouch } from './signing/sample.ts';
import { SIGNED_RULE, type SigningRig, startSigningRig, TEAM_ID } from './signing-rig.ts';

/*
 * The policy and settings apply while the newest charter in the log is valid and matches the rows. Otherwise, orders
 * need more approvals, never fewer.
 */

const FREE = newPolicyRule({ name: 'all free', decision: 'free', approvers: [] });
const AT = new Date('2026-03-01T09:00:00Z');

let s: SigningRig;
beforeEach(async () => {
  s = await startSigningRig();
});
afterEach(() => s.rig.end());

let count = 0;
const newName = () => {
  count += 1;
  return `name-${count}.rest`;
};
const statusOf = async (signing: OrderSigning = s.signing) => {
  const status = await signing.loadCharterStatus();
  return status?.kind === 'invalid' ? status.problem : status?.kind;
};
/** In the running process, and in one that starts now. */
const statuses = async () => [await statusOf(), await statusOf(s.restartSigning())];
/** The current requirements of a renewal. */
const listRequirements = async () =>
  (await s.requestRenewal(newName())).requirements.list.map(({ rule: { kind }, needed, signed }) => [
    kind,
    needed,
    signed,
  ]);
const BY_RULE = ['rule', 2, true];
const BY_ENVIRONMENT = ['environment', 1, true];
const keyOf = (who: { readonly authenticator: { readonly fingerprint: string } }) =>
  who.authenticator.fingerprint;

test('before the first charter, the environment’s approvers sign and the policy’s tags are protected', async () => {
  await s.publishPolicy(
    [newPolicyRule({ name: 'brand', names: ['tag:brand'], decision: 'free', approvers: [] })],
    'nobody',
  );
  expect(await statuses()).toEqual(['none', 'none']);
  expect(await listRequirements()).toEqual([['approval_tasks', 1, true]]);
  expect((await s.signing.policy.loadCurrentPolicy()).tags).toEqual(['brand']);
});

test('a charter stays valid when its signer leaves or retires the key', async () => {
  const { anna, bob, carol, dora } = s.people;
  for (const signer of [bob, carol, dora])
    await s.publishPolicy([SIGNED_RULE, newPolicyRule({ name: newName() })], signer);
  s.rig.memberships.set('U0DORA', 'left');
  expect(await statuses(), 'signer left a second ago').toEqual(['valid', 'valid']);
  await s.keys.revokeForDeparture('U0DORA', AT);
  expect(await statuses(), 'offboarded').toEqual(['valid', 'valid']);
  await s.publishPolicy([SIGNED_RULE], bob);
  await s.keys.revoke('U0BOB', signRevocation(bob, bob), AT);
  expect(await statuses(), 'key retired').toEqual(['valid', 'valid']);
  await s.publishPolicy([SIGNED_RULE, FREE], carol);
  s.rig.memberships.set('U0ANNA', 'left');
  await s.keys.revoke('U0ANNA', signRevocation(anna, anna), AT);
  expect(await statuses(), 'voucher’s key retired').toEqual(['valid', 'valid']);
  expect(await listRequirements()).toEqual([BY_RULE]);
  expect((await s.signing.loadKeys()).ring.validKeys.size, 'keys whose approvals count').toBe(0);
});

test('a key revoked as compromised invalidates its charter: signed policy and environment both apply', async () => {
  await s.publishPolicy([SIGNED_RULE], s.people.bob);
  await s.publishPolicy([FREE], s.people.carol);
  expect((await s.requestRenewal(newName())).state).toBe('APPROVED');
  await s.keys.revoke('U0CAROL', signRevocation(s.people.anna, s.people.carol, 'compromised'), AT);
  expect(await statuses()).toEqual(['not_signed', 'not_signed']);
  expect(await listRequirements(), 'both apply').toEqual([BY_RULE, BY_ENVIRONMENT]);
  const order = await s.requestRenewal(newName());
  expect(await s.approve(order.id, 'U0BOB')).toMatchObject({ refusal: { code: 'signature_needed' } });
  expect((await s.rig.read(order.id)).requirements.breakGlass).toBe(false);
  await s.signCharter(s.people.bob);
  expect(await statuses()).toEqual(['valid', 'valid']);
  expect((await s.requestRenewal(newName())).state).toBe('APPROVED');
});

test('a voucher’s compromised key invalidates charters signed by keys it vouched for', async () => {
  const eve = newSigner('U0EVE');
  await s.addKey(eve);
  await s.keys.vouch('U0EVE', signVouch(s.people.bob, eve), AT);
  await s.publishPolicy([SIGNED_RULE], eve);
  expect(await statusOf()).toBe('valid');
  await s.keys.revoke('U0BOB', signRevocation(s.people.anna, s.people.bob, 'compromised'), AT);
  expect(await statuses()).toEqual(['not_signed', 'not_signed']);
});

test('a free order needs a signed approval while no charter is valid, and is sent with it', async () => {
  await s.publishPolicy([FREE], s.people.bob);
  await s.tamper(`UPDATE policy_versions SET rules = jsonb_set(rules::jsonb, '{0,name}', '"other"')::jsonb`);
  expect(await statuses()).toEqual(['rows_differ', 'rows_differ']);
  const order = await s.requestRenewal(newName());
  expect(order.state).toBe('PENDING');
  await s.approveWithSignatures(order.id, s.people.carol);
  await s.execute(order.id);
  expect(await s.rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
});

test('an order approved before the charter became invalid isn’t sent', async () => {
  await s.publishPolicy([FREE], s.people.bob);
  const order = await s.requestRenewal(newName());
  expect(order.state).toBe('APPROVED');
  await s.keys.revoke('U0BOB', signRevocation(s.people.bob, s.people.bob, 'compromised'), AT);
  await s.execute(order.id);
  expect(s.rig.service.received).toEqual([]);
  expect(await s.rig.read(order.id)).toMatchObject({ state: 'FAILED' });
});

test('a charter needs an admin who didn’t publish it to sign, and the bot to countersign', async () => {
  await s.publishPolicy([SIGNED_RULE], s.people.bob);
  await s.publishPolicy([FREE], 'nobody');
  const cases = {
    'not countersigned by the bot': () => s.signCharter(s.people.carol, { isSignedByBot: false }),
    'signed by the publisher': () => s.signCharter(s.people.carol, { publisher: 'U0CAROL' }),
    'key without a vouch': () => s.signCharter(s.people.mallory),
  };
  for (const [what, sign] of Object.entries(cases)) {
    await sign();
    expect(await statuses(), what).toEqual(['not_signed', 'not_signed']);
    expect(await listRequirements(), what).toEqual([BY_RULE, BY_ENVIRONMENT]);
  }
});

test('restoring rows or events never makes an older charter valid again', async () => {
  const OLD = `SELECT team_id, subject_kind, subject_id, kind, actor, at, data FROM events WHERE kind = 'charter_signed' ORDER BY seq`;
  await s.publishPolicy([FREE], s.people.bob);
  await s.publishPolicy([SIGNED_RULE], s.people.carol);
  const insert = (data: string) =>
    `INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
     SELECT team_id, subject_kind, subject_id, kind, actor, at, ${data} FROM (${OLD} LIMIT 1) e`;
  await s.tamper(
    `UPDATE policy_versions p SET rules = o.rules FROM policy_versions o WHERE p.version = 2 AND o.version = 1`,
  );
  expect(await statuses(), 'older rows restored').toEqual(['rows_differ', 'rows_differ']);
  await s.tamper(`DELETE FROM policy_versions WHERE version = 2`);
  expect(await statuses(), 'newer version deleted').toEqual(['rows_differ', 'rows_differ']);
  await s.tamper(insert('data'));
  expect(await statuses(), 'older event inserted again').toEqual(['events_missing', 'events_missing']);
  expect(await listRequirements()).toEqual([BY_RULE, BY_ENVIRONMENT]);
  await s.tamper(
    `DELETE FROM events WHERE seq = (SELECT max(seq) FROM events WHERE kind = 'charter_signed')`,
  );
  await s.tamper(insert(`data - 'previous'`));
  expect(await statuses(), 'older event inserted without its link').toEqual(['rows_differ', 'rows_differ']);
});

test('a charter inserted into the log with the right link is invalid', async () => {
  await s.publishPolicy([FREE], s.people.bob);
  await s.publishPolicy([SIGNED_RULE], s.people.carol);
  const link = await readLastEventHash(s.rig.database.run);
  await s.tamper(`INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
    SELECT team_id, subject_kind, subject_id, kind, actor, at, jsonb_set(data, '{previous}', '"${link}"')
    FROM events WHERE kind = 'charter_signed' ORDER BY seq LIMIT 1`);
  await s.tamper('DELETE FROM policy_versions WHERE version = 2');
  expect(await statuses(), 'older charter inserted').toEqual(['not_signed', 'not_signed']);
  expect(await listRequirements()).toEqual([BY_RULE, BY_ENVIRONMENT]);
});

test('a charter with changed content is invalid', async () => {
  await s.publishPolicy([FREE], s.people.bob);
  await s.publishPolicy([SIGNED_RULE], s.people.carol);
  const rules = `(SELECT rules FROM policy_versions WHERE version = 1)`;
  await s.tamper(`UPDATE events SET data = jsonb_set(data, '{charter,policy,rules}', (SELECT data#>'{charter,policy,rules}' FROM events WHERE kind = 'charter_signed' ORDER BY seq LIMIT 1))
    WHERE seq = (SELECT max(seq) FROM events WHERE kind = 'charter_signed')`);
  await s.tamper(`UPDATE policy_versions SET rules = ${rules} WHERE version = 2`);
  expect(await statuses()).toEqual(['not_signed', 'not_signed']);
});

test('a running process detects a removed revocation, even if its unsealed row is removed too', async () => {
  await s.publishPolicy([SIGNED_RULE], s.people.bob);
  await s.keys.revoke('U0CAROL', signRevocation(s.people.anna, s.people.carol), AT);
  expect(await statusOf()).toBe('valid');
  const newest = `(SELECT max(seq) FROM events WHERE kind = 'key_revoked')`;
  await s.tamper(
    `DELETE FROM unsealed_events WHERE event_seq = ${newest}; DELETE FROM events WHERE seq = ${newest}`,
  );
  expect(await statusOf()).toBe('events_missing');
  expect((await s.signing.loadKeys()).ring.validKeys.size).toBe(0);
});

test('a revocation without proof revokes no key', async () => {
  await s.publishPolicy([SIGNED_RULE], s.people.bob);
  const { bob } = s.people;
  for (const data of [`'{"owner": "U0BOB"}'`, `'{"owner": "U0BOB", "left": true}'`, `'{}'`])
    await s.tamper(`INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
      VALUES ('T0STEWARD', 'key', '${keyOf(bob)}', 'key_revoked', 'U0ANNA', now(), ${data})`);
  expect(await statuses()).toEqual(['valid', 'valid']);
  expect((await s.signing.loadKeys()).ring.validKeys.has(keyOf(bob))).toBe(true);
});

test.each(['revocation', 'vouching', 'charter'] as const)(
  'no signature counts while a %s is missing from the log, even after a restart',
  async (what) => {
    await s.publishPolicy([SIGNED_RULE], s.people.bob);
    const order = await s.requestSignedOrder(newName());
    await s.keys.revoke('U0CAROL', signRevocation(s.people.anna, s.people.carol), AT);
    if (what !== 'revocation') {
      const eve = newSigner('U0EVE');
      await s.addKey(eve);
      await s.keys.vouch('U0EVE', signVouch(s.people.bob, eve), AT);
    }
    if (what === 'charter') await s.signCharter(s.people.bob);
    expect(await statusOf()).toBe('valid');
    const kind = { revocation: 'key_revoked', vouching: 'key_vouched', charter: 'charter_signed' }[what];
    const newest = `(SELECT max(seq) FROM events WHERE kind = '${kind}')`;
    await s.tamper(`CREATE TABLE taken AS SELECT * FROM events WHERE seq = ${newest}`);
    await s.tamper(`DELETE FROM events WHERE seq = ${newest}`);
    expect(await statuses(), 'removed').toEqual(['events_missing', 'events_missing']);
    expect((await s.restartSigning().loadKeys()).ring.validKeys.size).toBe(0);
    await s.execute(order.id);
    expect(s.rig.service.received).toEqual([]);
    await s.tamper(`INSERT INTO events SELECT * FROM taken`);
    expect(await statuses(), 'restored').toEqual(['valid', 'valid']);
  },
);

test('a copied database object keeps the verified log of keys, but a new process doesn’t', async () => {
  await s.publishPolicy([SIGNED_RULE], s.people.bob);
  expect(await statusOf()).toBe('valid');
  const isComplete = async (database: Database) =>
    (await createKeyStore(database, TEAM_ID).readRows()).log.keys.isComplete;
  expect(await isComplete({ ...s.rig.database })).toBe(true);
  expect(await isComplete({ ...s.rig.database, signingLog: new VerifiedSigningLog() })).toBe(false);
});

test('a changed key event in the middle of the log is detected', async () => {
  await s.publishPolicy([SIGNED_RULE], s.people.bob);
  await s.keys.revoke('U0CAROL', signRevocation(s.people.anna, s.people.carol), AT);
  await s.signCharter(s.people.bob);
  expect(await statusOf()).toBe('valid');
  await s.tamper(`UPDATE events SET kind = 'key_vouched' WHERE kind = 'key_revoked'`);
  expect(await statuses()).toEqual(['events_missing', 'events_missing']);
  expect((await s.signing.loadKeys()).ring.validKeys.has(keyOf(s.people.carol))).toBe(false);
});

test('with another host in PUBLIC_URL, no charter or key is valid and approval is still needed', async () => {
  await s.publishPolicy([FREE], s.people.bob);
  const moved = s.restartSigning(createVerifier({ id: 'other.example', origin: 'https://other.example' }));
  expect(await statusOf(moved)).toBe('not_signed');
  expect((await moved.policy.loadCurrentPolicy()).charterProblem?.environment).toMatchObject({ needed: 1 });
  expect((await moved.loadKeys()).ring.validKeys.size).toBe(0);
});

test('without https in PUBLIC_URL, no charter or key is valid and approval is still needed', async () => {
  await s.publishPolicy([FREE], s.people.bob);
  const moved = s.restartSigning(createVerifier(parseRelyingParty('http://steward.example')));
  expect(await statusOf(moved)).toBe('not_signed');
  expect((await moved.policy.loadCurrentPolicy()).charterProblem?.environment).toMatchObject({ needed: 1 });
  expect((await moved.loadKeys()).ring.validKeys.size).toBe(0);
});

test('a new process detects a removed or changed sealed event', async () => {
  const { anna, bob, carol } = s.people;
  await s.publishPolicy([SIGNED_RULE], bob);
  await s.sealPendingEvents();
  await s.keys.revoke('U0CAROL', signRevocation(anna, carol), AT);
  await s.sealPendingEvents();
  await s.signCharter(bob);
  await s.sealPendingEvents();
  await s.requestRenewal(newName());
  await s.sealPendingEvents();
  const revocation = `(SELECT seq FROM events WHERE kind = 'key_revoked')`;
  const charter = `(SELECT max(seq) FROM events WHERE kind = 'charter_signed')`;
  const remove = (seq: string) => `DELETE FROM events WHERE seq = ${seq}`;
  const rechain = `UPDATE events SET data = jsonb_set(data, '{previous}', (SELECT data->'previous' FROM events WHERE kind = 'key_revoked')) WHERE seq = ${charter}`;
  const unseal = (seq: string) =>
    `INSERT INTO unsealed_events (event_seq, team_id, since) SELECT event_seq, team_id, now() FROM ledger_entries WHERE event_seq = ${seq}; DELETE FROM ledger_entries WHERE event_seq = ${seq}`;
  const newest = `(SELECT max(seq) FROM events)`;
  // The revocation is in the middle of the log; the charter is the newest event of its kind.
  const attacks: Readonly<Record<string, string>> = {
    'newest event removed': remove(charter),
    'newest event and ledger entry removed': `DELETE FROM ledger_entries WHERE event_seq = ${charter}; ${remove(charter)}`,
    'newest event and seal removed': `DELETE FROM seals WHERE n = 3; ${remove(charter)}`,
    'newest event without a link': `UPDATE events SET data = data - 'previous' WHERE seq = ${charter}`,
    'newest event of another kind': `UPDATE events SET subject_kind = 'order', kind = 'x' WHERE seq = ${charter}`,
    'newest event without a link, with another leaf': `UPDATE ledger_entries SET leaf = sha256('x') WHERE event_seq = ${charter}; UPDATE events SET data = data - 'previous' WHERE seq = ${charter}`,
    'middle event removed, next one relinked': `${rechain}; ${remove(revocation)}`,
    'middle event removed, next one relinked and unsealed': `${rechain}; ${remove(revocation)}; ${unseal(charter)}`,
    'newest seal removed': `DELETE FROM seals WHERE n = (SELECT max(n) FROM seals); DELETE FROM events WHERE seq = ${newest}`,
  };
  const tables = ['events', 'ledger_entries', 'unsealed_events', 'seals'];
  await s.tamper(tables.map((table) => `CREATE TABLE kept_${table} AS SELECT * FROM ${table}`).join(';'));
  for (const [what, attack] of Object.entries(attacks)) {
    await s.tamper(attack);
    expect(await statusOf(s.restartSigning()), what).toBe('events_missing');
    await s.tamper(
      tables
        .map((table) => `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM kept_${table}`)
        .join(';'),
    );
    expect(await statusOf(s.restartSigning()), `${what}, restored`).toBe('valid');
  }
});

test('a forged event doesn’t suppress notifications, and each process notifies once', async () => {
  await s.publishPolicy([FREE], s.people.bob);
  const newWatch = (signing = s.signing) =>
    createCharterWatch({
      ...{ signing, keys: s.keys, onChange: () => undefined },
      now: () => AT,
      log: createLog('fatal'),
    });
  const listNotified = async () =>
    (
      await s.rig.sql(`SELECT data->>'status' AS status FROM events e JOIN notifications n ON n.subject_id = e.seq::text
      WHERE e.kind = 'charter_status' ORDER BY e.seq`)
    ).map(({ status }) => status);
  const watch = newWatch();
  await watch();
  expect(await listNotified(), 'at the start').toEqual([]);
  await s.tamper(`INSERT INTO events (team_id, subject_kind, subject_id, kind, actor, at, data)
    VALUES ('T0STEWARD', 'policy', 'policy', 'charter_status', 'system', now(), '{"status": "rows_differ"}')`);
  await s.tamper(`UPDATE policy_versions SET rules = '[]'`);
  await watch();
  await watch();
  expect(await listNotified()).toEqual(['rows_differ']);
  const restarted = newWatch(s.restartSigning());
  await restarted();
  await restarted();
  expect(await listNotified(), 'after a restart').toEqual(['rows_differ', 'rows_differ']);
  await s.signCharter(s.people.carol);
  await watch();
  await restarted();
  expect(await listNotified(), 'one for both processes').toEqual(['rows_differ', 'rows_differ', 'valid']);
});

test('an order can need a signature from one approver and a click from another', async () => {
  const both = newPolicyRule({ name: 'signed', by: ['S0GONE'], approvers: ['U0BOB'], signed: true });
  await s.publishPolicy([both, newPolicyRule({ name: 'clicked', approvers: ['U0MALLORY', 'U0CAROL'] })]);
  const order = await s.requestRenewal(newName());
  expect(order.requirements.list.map(({ signed }) => signed)).toEqual([true, false]);
  expect(await s.approve(order.id, 'U0BOB'), 'Bob has to sign').toMatchObject({
    refusal: { code: 'signature_needed' },
  });
  expect(await s.approve(order.id, 'U0MALLORY'), 'Mallory only has to click').toMatchObject({ ok: true });
  expect(await s.approve(order.id, 'U0MALLORY')).toMatchObject({ refusal: { code: 'already_approved' } });
  expect((await s.rig.read(order.id)).state).toBe('PENDING');
  await s.approveWithSignatures(order.id, s.people.bob);
  expect((await s.rig.read(order.id)).state).toBe('APPROVED');
  await s.execute(order.id);
  expect(await s.rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
});

test('a person has at most ten passkeys', async () => {
  const keys = Array.from({ length: 10 }, () => newSigner('U0ALICE'));
  for (const key of keys) await s.addKey(key);
  expect(await s.addKey(newSigner('U0ALICE'))).toBe(false);
  await s.keys.revoke('U0ALICE', signRevocation(s.people.anna, keys[0] ?? newSigner('')), AT);
  expect(await s.addKey(newSigner('U0ALICE'))).toBe(true);
});

/** The tables that approval and signing depend on. */
const TABLES = ['settings', 'policy_versions', 'policy_drafts', 'passkey_counters'] as const;
type Image = ReadonlyMap<string, string>;

test('restoring old rows never weakens later orders, and each difference is reported once', async () => {
  const { bob, carol, dora } = s.people;
  const watch = createCharterWatch({
    ...{ signing: s.signing, keys: s.keys, onChange: () => undefined },
    now: () => AT,
    log: createLog('fatal'),
  });
  const countNotified = async () =>
    Number(
      (await s.rig.sql(`SELECT count(*)::int AS n FROM events WHERE kind = 'charter_status'`))[0]?.['n'],
    );
  const readTables = async (): Promise<Image> => {
    const texts = new Map<string, string>();
    for (const table of TABLES) {
      const [row] = await s.rig.sql(`SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${table} t`);
      texts.set(table, String(row?.['rows']));
    }
    return texts;
  };
  const restore = async (rows: Image, tables: readonly string[]) => {
    for (const table of tables)
      await s.tamper(
        `DELETE FROM ${table}; INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $rows$${rows.get(table)}$rows$)`,
      );
  };
  const saveSetting = async (name: string, before: unknown, after: unknown) => {
    await s.saveSettings([{ name, before: String(before), after: String(after) }], 'U0ADA', AT);
    await s.signCharter(carol);
  };
  const steps: readonly (() => Promise<unknown>)[] = [
    () => s.publishPolicy([FREE], bob),
    () => saveSetting('approvals_required', 1, 2),
    () => s.keys.advanceCounter(keyOf(bob), 7),
    () => s.publishPolicy([newPolicyRule({ name: 'one click', approvers: ['U0BOB'] })], dora),
    () => saveSetting('allow_self_approval', false, true),
    () => s.publishPolicy([SIGNED_RULE], bob),
    () => saveSetting('approvals_required', 2, 1),
  ];
  const pairs = TABLES.flatMap((one, n) => TABLES.slice(n + 1).map((other) => [one, other]));
  const earlier: Image[] = [];
  for (const step of steps) {
    earlier.push(await readTables());
    await step();
    await watch();
    const now = await readTables();
    const required = await listRequirements();
    for (const before of earlier) {
      // Pairs of tables are only restored from the first image, after the last step.
      const withPairs = before === earlier[0] && earlier.length === steps.length;
      for (const tables of [...TABLES.map((table) => [table]), ...(withPairs ? pairs : [])]) {
        const differs = tables.some(
          (table) =>
            table !== 'policy_drafts' && table !== 'passkey_counters' && before.get(table) !== now.get(table),
        );
        const notifiedBefore = await countNotified();
        await restore(before, tables);
        await watch();
        await watch();
        const what = `${tables.join(' and ')} of ${earlier.indexOf(before)} after ${earlier.length}`;
        expect(await statuses(), what).toEqual(Array(2).fill(differs ? 'rows_differ' : 'valid'));
        const restored = await s.requestRenewal(newName());
        const needs = restored.requirements.list.map(({ rule: { kind }, needed, signed }) => [
          kind,
          needed,
          signed,
        ]);
        expect(needs, what).toEqual(expect.arrayContaining(required));
        expect(needsSignatures(restored.requirements) || !differs, what).toBe(true);
        expect((await countNotified()) - notifiedBefore, what).toBe(differs ? 1 : 0);
        await restore(now, tables);
        await watch();
        expect(await statusOf(), `${what}, restored`).toBe('valid');
      }
    }
  }
}, 120_000);
