import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOUR_MS } from '../orders/rig.ts';
import { SIGNED_RULE, type SigningRig, startSigningRig } from './signing-rig.ts';

/* Signatures of a scheduled order. */

let s: SigningRig;
beforeAll(async () => {
  s = await startSigningRig();
  await s.publishPolicy([SIGNED_RULE]);
});
afterAll(() => s.rig.end());

test('signatures from before an order was reopened don’t count, even if their rows are restored', async () => {
  const { bob, carol, dora } = s.people;
  const { id } = await s.rig.requestAccepted(
    'renew',
    { names: ['cafe.rest'], period: 1 },
    { sendAt: { text: '2026-03-02 09:00', timeZone: 'UTC' } },
  );
  await s.approveWithSignatures(id, bob, carol);
  expect((await s.rig.read(id)).state).toBe('APPROVED');
  await s.rig.sql('CREATE TABLE approvals_kept AS SELECT * FROM approvals');

  s.rig.advanceClock(26 * HOUR_MS);
  await s.advance(id);
  expect(await s.rig.read(id)).toMatchObject({ state: 'PENDING', approvals: [], approvalRound: 1 });

  await s.rig.sql('INSERT INTO approvals SELECT * FROM approvals_kept');
  await s.approveWithSignatures(id, dora);
  expect((await s.rig.read(id)).state).toBe('PENDING');
  await s.approveWithSignatures(id, carol);
  await s.execute(id);
  expect((await s.rig.read(id)).state).toBe('SUCCEEDED');
  expect(s.rig.service.received).toHaveLength(1);
});
