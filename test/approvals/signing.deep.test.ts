import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { approveInEmergency, resumeOrder } from '../../src/approvals/approve.ts';
import { confirmOrder } from '../../src/orders/confirm-draft.ts';
import { MINUTE_MS } from '../orders/rig.ts';
import { newServiceError, SUCCESS_ENVELOPE } from '../orders/scripted-service.ts';
import { newSigner, type Signer, signVouch } from './signing/sample.ts';
import { SIGNED_RULE, type SigningRig, startSigningRig } from './signing-rig.ts';

/* If a rule requires signatures, orders aren't sent without them. */

let s: SigningRig;
beforeAll(async () => {
  s = await startSigningRig();
  await s.publishPolicy([SIGNED_RULE]);
});
beforeEach(() => {
  s.rig.service.received.length = 0;
});
afterAll(() => s.rig.end());

let count = 0;
const newName = () => {
  count += 1;
  return `name-${count}.rest`;
};
const countSent = () => s.rig.service.received.length;

test('an order signed by two people is sent', async () => {
  const order = await s.requestSignedOrder(newName());
  expect(order.state).toBe('APPROVED');
  await s.execute(order.id);
  expect(await s.rig.read(order.id)).toMatchObject({ state: 'SUCCEEDED' });
  expect(countSent()).toBe(1);
  const approved = (await s.rig.store.loadHistory(order.id, 'system')).filter(
    ({ kind }) => kind === 'approved',
  );
  expect(approved).toMatchObject([
    { actor: 'U0BOB', signature: { challenge: { approver: 'U0BOB', statement: order.statementHash } } },
    { actor: 'U0CAROL', signature: { challenge: { approver: 'U0CAROL', policy: 1 } } },
  ]);
});

test('a click doesn’t replace a signature, and one signature doesn’t count twice', async () => {
  const order = await s.requestRenewal(newName());
  expect(await s.approve(order.id, 'U0BOB')).toMatchObject({
    ok: false,
    refusal: { code: 'signature_needed' },
  });
  await s.approveWithSignatures(order.id, s.people.bob);
  expect(await s.approve(order.id, 'U0CAROL')).toMatchObject({ refusal: { code: 'signature_needed' } });
  expect(await s.approveWithSignatures(order.id, s.people.bob)).toMatchObject({
    refusal: { code: 'already_approved' },
  });
  expect((await s.rig.read(order.id)).state).toBe('PENDING');
});

test('a revoked key stops an order that isn’t sent yet', async () => {
  const order = await s.requestSignedOrder(newName());
  const { dora, anna } = s.people;
  const second = newSigner('U0CAROL');
  await s.addKey(second);
  const { fingerprint } = s.people.carol.authenticator;
  await s.keys.revoke(
    'U0CAROL',
    anna.authenticator.assert({
      ...{ by: 'U0ANNA', decision: 'revoke', key: fingerprint, of: 'U0CAROL' },
      nonce: 'a'.repeat(64),
      reason: 'retired',
    }),
    s.rig.now,
  );
  await s.execute(order.id);
  expect(countSent()).toBe(0);
  expect(await s.rig.read(order.id)).toMatchObject({
    state: 'FAILED',
    items: [{ sentAt: undefined, result: { summary: { code: 'not_signed', differs: ['key'] } } }],
  });
  // Carol signs again with another key that was vouched for.
  await s.keys.vouch('U0CAROL', signVouch(dora, second), s.rig.now);
  s.people.carol = second;
  const next = await s.requestSignedOrder(newName());
  await s.execute(next.id);
  expect(countSent()).toBe(1);
});

test('the signature of a person who has left doesn’t count', async () => {
  const order = await s.requestSignedOrder(newName());
  s.rig.memberships.set('U0BOB', 'left');
  await s.execute(order.id);
  expect(countSent()).toBe(0);
  expect((await s.rig.read(order.id)).state).toBe('FAILED');
  s.rig.memberships.clear();
});

test('an order waits while Slack doesn’t return a signer', async () => {
  const order = await s.requestSignedOrder(newName());
  s.rig.memberships.set('U0BOB', 'unknown');
  await s.execute(order.id);
  expect(countSent()).toBe(0);
  expect((await s.rig.read(order.id)).state).toBe('APPROVED');
  s.rig.memberships.clear();
  await s.execute(order.id);
  expect(countSent()).toBe(1);
});

test('signatures are checked again before a retry', async () => {
  const order = await s.requestSignedOrder(newName());
  s.rig.service.answer = async () => {
    throw newServiceError('busy', { retryAfterMs: MINUTE_MS, httpStatus: 429 });
  };
  await s.execute(order.id);
  expect(countSent()).toBe(1);
  await s.rig.sql(`DELETE FROM approvals WHERE order_id = $1 AND user_id = 'U0BOB'`, order.id);
  s.rig.advanceClock(MINUTE_MS);
  await s.execute(order.id);
  expect(countSent(), 'only the first request').toBe(1);
  expect(await s.rig.read(order.id)).toMatchObject({
    items: [{ result: { summary: { code: 'not_signed', differs: ['count'] } } }],
  });
  s.rig.service.answer = async () => SUCCESS_ENVELOPE;
});

test('a paused bulk order continues only with new signatures', async () => {
  const rows = Array.from({ length: 60 }, (_, n) => {
    const name = newName();
    return { name, input: { names: [name], period: 1 }, secret: undefined, n };
  });
  const bulk = { rows: rows.map(({ n: _, ...row }) => row), findings: [], skippedCount: 0 };
  const requested = await s.rig.request('renew', {}, { bulk });
  if (requested.kind !== 'accepted') throw new Error(requested.kind);
  const { id } = requested.order;
  await confirmOrder(s.rig.orders, id, 'U0ALICE');
  await s.approveWithSignatures(id, s.people.bob, s.people.carol);
  s.rig.service.answer = async () => {
    throw newServiceError('refused', { code: 'EF01055', httpStatus: 400 });
  };
  await s.execute(id);
  expect((await s.rig.read(id)).bulk?.pause).toBeDefined();
  s.rig.service.answer = async () => SUCCESS_ENVELOPE;
  const sentBefore = countSent();
  // Neither the requester nor an approver can resume it with a click.
  for (const userId of ['U0ALICE', 'U0BOB'])
    expect(await resumeOrder(s.rig.orders, id, userId)).toMatchObject({
      refusal: { code: 'signature_needed' },
    });
  const resume = async (signer: Signer) =>
    resumeOrder(s.rig.orders, id, signer.owner, await s.createSignature(id, signer));
  // Signatures from before the pause only count for what was sent then, so two new ones are needed.
  expect(await resume(s.people.bob)).toMatchObject({ ok: true });
  expect((await s.rig.read(id)).bulk?.pause).toBeDefined();
  expect(await resume(s.people.carol)).toMatchObject({ ok: true });
  await s.execute(id);
  const after = await s.rig.read(id);
  expect(after.bulk?.pause).toBeUndefined();
  expect(countSent() - sentBefore).toBe(after.items.filter(({ state }) => state === 'SUCCEEDED').length);
  expect(countSent() - sentBefore).toBeGreaterThan(40);
});

test('break glass isn’t allowed for an order that needs signatures', async () => {
  const order = await s.requestRenewal(newName());
  const deps = { ...s.rig.orders, isAdmin: async () => true };
  expect(await approveInEmergency(deps, order.id, 'U0EVE', 'it burns')).toMatchObject({
    refusal: { code: 'break_glass_not_allowed' },
  });
});
