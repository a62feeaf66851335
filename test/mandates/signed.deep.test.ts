import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/lib/duration.ts';
import { SIGNED_RULE, type SigningRig, startSigningRig } from '../approvals/signing-rig.ts';
import { mandatesOn } from './mandate-rig.ts';

/* Mandates with signed approvals: their renewals are sent with the mandate's signatures, and nothing else is. */

let s: SigningRig;
let on: ReturnType<typeof mandatesOn>;
beforeAll(async () => {
  s = await startSigningRig();
  on = mandatesOn(s.rig);
  const [at, by] = [new Date('2026-03-01T08:30:00Z'), 'U0ADA'];
  await s.save([{ name: 'approvers', before: '', after: 'U0BOB,U0CAROL,U0DORA' }], by, at);
  await s.publish([SIGNED_RULE]);
});
beforeEach(() => s.rig.reset());
afterAll(() => s.rig.end());

/** The order of a mandate that Bob and Carol have signed, and its earliest time to send. */
async function madeOrder(): Promise<{ readonly id: string; readonly mandateId: string }> {
  await on.watch('cafe.rest', 10);
  const { id: mandateId } = await on.ask();
  await s.sign(mandateId, s.people.bob, s.people.carol);
  await s.advance(mandateId);
  expect(await s.rig.read(mandateId)).toMatchObject({ state: 'SUCCEEDED' });
  const { orderId: id = 'none' } = await on.renewName('cafe.rest');
  expect(await s.rig.read(id)).toMatchObject({ state: 'APPROVED', mandate: { id: mandateId } });
  await on.announce();
  s.rig.pass(DAY_MS + 12 * HOUR_MS);
  await on.look();
  return { id, mandateId };
}

const sent = () => s.rig.service.received.map(({ ctid }) => ctid);

test('a renewal is sent with the signatures of its mandate', async () => {
  const { id } = await madeOrder();
  await s.advance(id);
  expect(sent()).toEqual([id]);
  expect(await s.rig.read(id)).toMatchObject({ state: 'SUCCEEDED' });
});

test.each([
  [
    'a signature of the mandate is gone',
    `UPDATE approvals SET signature = NULL WHERE order_id = $1 AND user_id = 'U0BOB'`,
  ],
  [
    'a signature of the mandate is another person’s',
    `UPDATE approvals SET user_id = 'U0DORA' WHERE order_id = $1 AND user_id = 'U0BOB'`,
  ],
  [
    'the mandate has another ceiling',
    `UPDATE orders SET input = jsonb_set(input, '{max_price,minor}', '900000') WHERE id = $1`,
  ],
])('nothing is sent if %s', async (_what, change) => {
  const { id, mandateId } = await madeOrder();
  await s.rig.sql(change, mandateId);
  await s.advance(id);
  expect(sent()).toEqual([]);
});

test.each([
  ['a deletion', 'delete', `jsonb_build_object('name', 'cafe.rest')`],
  ['nine years', 'renew', `jsonb_set(input, '{period}', '9')`],
])('%s isn’t sent with a mandate’s signatures', async (_what, task, input) => {
  const { id } = await madeOrder();
  await s.rig.sql('UPDATE orders SET task = $2 WHERE id = $1', id, task);
  await s.rig.askedWith(id, input);
  await s.advance(id);
  expect(sent()).toEqual([]);
});
