import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { approveOrder, approveWithSignature } from '../../src/approvals/approve.ts';
import { createOrderSigning } from '../../src/approvals/order-signing.ts';
import { createBudgetComparer } from '../../src/money/budget-comparison.ts';
import { createOrderIncidents } from '../../src/names/order-incidents.ts';
import type { OrderCommit } from '../../src/orders/ports.ts';
import { createAccountStore } from '../../src/store/accounts.ts';
import { createIncidentStore } from '../../src/store/incidents.ts';
import { createInstallationStore } from '../../src/store/installation.ts';
import { createKeyStore } from '../../src/store/signing.ts';
import { type MoneyRig, startRig } from '../money/rig.ts';
import { ALICE, HOUR_MS, TEAM_SETTINGS } from '../orders/rig.ts';
import { namesContextWith } from '../support/names-context.ts';
import { SIGNED_RULE, startSigningRig } from './signing-rig.ts';

/* An approval reads everything it depends on again. Each statement is a round trip while the approver waits. */

const MAX_READS = 6;
const TEAM_ID = 'T0STEWARD';

const statements = vi.spyOn(pg.Client.prototype, 'query');
const listQueryTexts = () =>
  statements.mock.calls.flatMap(([query]: readonly unknown[]) =>
    // The pool sends plain strings for its own connection handling.
    typeof query === 'object' && query !== null && 'text' in query ? [String(query.text)] : [],
  );

let m: MoneyRig;
let approve: (orderId: string, userId: string) => Promise<readonly string[]>;

beforeAll(async () => {
  m = await startRig();
  const { database, rig } = m;
  await createInstallationStore(database).assignWorkspace(TEAM_ID);
  const keys = createKeyStore(database, TEAM_ID);
  const signing = createOrderSigning({
    trust: undefined,
    readRows: () => keys.readRows(),
    directory: rig.directory,
    applySavedSettings: () => TEAM_SETTINGS,
    environmentSettings: TEAM_SETTINGS,
    ruleFacts: rig.orders.ruleFacts,
    now: () => rig.now,
  });
  const compareBudgets = createBudgetComparer({
    teamId: TEAM_ID,
    budgets: m.budgets,
    now: () => rig.now,
  });
  const accounts = createAccountStore(database);
  await accounts.save(ALICE, { bytes: Buffer.of(1), keyId: 'k1' });
  const incidents = createIncidentStore(database, TEAM_ID);
  approve = async (orderId, userId) => {
    let read: readonly string[] = [];
    const commit = (change: OrderCommit) => {
      read = listQueryTexts();
      return rig.store.commit(change);
    };
    statements.mockClear();
    const outcome = await approveOrder(
      {
        ...m.orders,
        signing,
        loadSettings: signing.loadSettings,
        policy: signing.policy,
        compareBudgets,
        standIns: signing.standIns,
        findAccount: async (id) => (await accounts.find(id))?.account,
        incidents: createOrderIncidents(namesContextWith({ incidents, now: () => rig.now })),
        store: { ...rig.store, commit },
      },
      orderId,
      userId,
    );
    expect(outcome).toMatchObject({ ok: true, order: { state: 'APPROVED' } });
    return read;
  };
});
afterAll(() => m.end());
beforeEach(() => m.reset());

test.each([
  ['a listed approver', 'U0BOB'],
  ['a member of a listed group', 'U0DORA'],
  ['a stand-in', 'U0EVE'],
])(`an approval by %s reads at most ${MAX_READS} statements before it commits`, async (_, userId) => {
  await m.addBudget(5_000);
  await m.addBudget(5_000, { tag: 'client' });
  const until = new Date(m.rig.now.getTime() + HOUR_MS);
  await m.rig.standIns.begin('U0CAROL', { userId: 'U0EVE', until }, m.rig.now);
  const { id } = await m.requestAccepted('renew', { names: ['cafe.rest', 'bar.rest'], period: 1 });

  const statements = await approve(id, userId);

  expect(statements.length, statements.join('\n\n')).toBeGreaterThan(0);
  expect(statements.length, statements.join('\n\n')).toBeLessThanOrEqual(MAX_READS);
});

test('a signed approval reads policy, settings and keys in one statement', async () => {
  const s = await startSigningRig();
  try {
    await s.publishPolicy([SIGNED_RULE]);
    const { id } = await s.requestRenewal('cafe.rest');
    await s.approveWithSignatures(id, s.people.bob);
    const signed = await s.createSignature(id, s.people.carol);
    statements.mockClear();
    const outcome = await approveWithSignature(s.rig.orders, id, 'U0CAROL', signed);
    expect(outcome).toMatchObject({ ok: true, order: { state: 'APPROVED' } });
    expect(listQueryTexts().filter((text) => text.includes('policy_versions'))).toHaveLength(1);
  } finally {
    await s.rig.end();
  }
});
