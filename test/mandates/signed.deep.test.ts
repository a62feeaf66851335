import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/lib/duration.ts';
import { SIGNED_RULE, type SigningRig, startSigningRig } from '../approvals/signing-rig.ts';
import { createMandateHelpers } from './mandate-rig.ts';

/* Mandates with signed approvals: the mandate's signatures allow its renewals and nothing else. */

let s: SigningRig;
let on: ReturnType<typeof createMandateHelpers>;
beforeAll(async () => {
  s = await startSigningRig();
  on = createMandateHelpers(s.rig);
  const [at, by] = [new Date('2026-03-01T08:30:00Z'), 'U0ADA'];
  await s.saveSettings([{ name: 'approvers', before: '', after: 'U0BOB,U0CAROL,U0DORA' }], by, at);
  await s.publishPolicy([SIGNED_RULE]);
});
beforeEach(() => s.rig.reset());
afterAll(() => s.rig.end());

/** Creates a mandate signed by Bob and Carol, and its order that is ready to send. */
async function createReadyOrder(): Promise<{ readonly id: string; readonly mandateId: string }> {
  await on.watch('cafe.rest', 10);
  const { id: mandateId } = await on.requestMandate();
  await s.approveWithSignatures(mandateId, s.people.bob, s.people.carol);
  await s.advance(mandateId);
  expect(await s.rig.read(mandateId)).toMatchObject({ state: 'SUCCEEDED' });
  const { orderId: id = 'none' } = await on.runAndFindAct('cafe.rest');
  expect(await s.rig.read(id)).toMatchObject({ state: 'APPROVED', mandate: { id: mandateId } });
  await on.markAnnounced();
  s.rig.advanceClock(DAY_MS + 12 * HOUR_MS);
  await on.recordLookup();
  return { id, mandateId };
}

const listSentOrderIds = () => s.rig.service.received.map(({ ctid }) => ctid);

test('a renewal is sent with the signatures of its mandate', async () => {
  const { id } = await createReadyOrder();
  await s.advance(id);
  expect(listSentOrderIds()).toEqual([id]);
  expect(await s.rig.read(id)).toMatchObject({ state: 'SUCCEEDED' });
});

test.each([
  [
    'a signature of the mandate is deleted',
    `UPDATE approvals SET signature = NULL WHERE order_id = $1 AND user_id = 'U0BOB'`,
  ],
  [
    'a signature of the mandate is attributed to another person',
    `UPDATE approvals SET user_id = 'U0DORA' WHERE order_id = $1 AND user_id = 'U0BOB'`,
  ],
  [
    'the mandate’s row has a higher price limit',
    `UPDATE orders SET input = jsonb_set(input, '{max_price,minor}', '900000') WHERE id = $1`,
  ],
])('nothing is sent if %s', async (_what, change) => {
  const { id, mandateId } = await createReadyOrder();
  await s.rig.sql(change, mandateId);
  await s.advance(id);
  expect(listSentOrderIds()).toEqual([]);
});

test.each([
  ['a deletion', 'delete', `jsonb_build_object('name', 'cafe.rest')`],
  ['a renewal for nine years', 'renew', `jsonb_set(input, '{period}', '9')`],
])('a mandate’s signatures don’t allow %s', async (_what, task, input) => {
  const { id } = await createReadyOrder();
  await s.rig.sql('UPDATE orders SET task = $2 WHERE id = $1', id, task);
  await s.rig.changeRequestedInput(id, input);
  await s.advance(id);
  expect(listSentOrderIds()).toEqual([]);
});
