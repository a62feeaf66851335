import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { resolveByEvidence } from '../../src/orders/evidence.ts';
import type { Evidence } from '../../src/orders/ports.ts';
import type { EvidenceHint } from '../../src/orders/record-finding.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { buildOrderCells } from '../../src/slack/ledger/audit.view.ts';
import { publicRecordLines } from '../../src/slack/orders/order.view.ts';
import { orderHistory, orderReply } from '../../src/slack/orders/thread.view.ts';
import { renderCard } from '../slack/orders/samples.ts';
import { contextWith } from '../support/context.ts';
import { MINUTE_MS, type Rig, startRig } from './rig.ts';
import { newServiceError } from './scripted-service.ts';

/* Public records settle a name if they prove that it was done. Otherwise, people see a hint. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const HINT = 'No registration of the name was found.';
const newHint = (seen: EvidenceHint = { code: 'not_registered' }, source = 'rdap.example'): Evidence => ({
  kind: 'hint',
  seen,
  source,
});
const seenStatuses = (...seen: readonly string[]): EvidenceHint => ({
  code: 'statuses_seen',
  statuses: seen,
});

/** Requests a renewal whose outcomes are unknown. */
const requestWithUnknownOutcomes = async (...names: string[]) => {
  rig.service.answer = async () => {
    throw newServiceError('unknown_outcome');
  };
  const order = await rig.requestApprovedRenewal(...names);
  await rig.runDue();
  return rig.read(order.id);
};
const settleByEvidence = async (orderId: string, findEvidenceFor: (name: string) => Evidence) =>
  resolveByEvidence(
    contextWith({
      ...rig.orders,
      findEvidence: async (_order, { name }) => findEvidenceFor(name),
      lookupSignal: new AbortController().signal,
    }),
    await rig.read(orderId),
  );
const renderCurrentCard = async (orderId: string) =>
  JSON.stringify(renderCard(await rig.read(orderId), { approvers: [], now: rig.now }));

test('a name that public records prove to be done is settled automatically', async () => {
  const order = await requestWithUnknownOutcomes('one.rest', 'two.rest');
  const seen = { code: 'registered' } as const;
  await settleByEvidence(order.id, (name) =>
    name === 'one.rest' ? { kind: 'done', seen } : { kind: 'nothing' },
  );
  expect(await rig.read(order.id)).toMatchObject({
    state: 'UNKNOWN',
    items: [{ state: 'SUCCEEDED', result: { resolvedBy: 'evidence' } }, { state: 'UNKNOWN' }],
  });
  const settled = (await rig.store.loadHistory(order.id, 'system')).find(({ kind }) => kind === 'resolved');
  expect(settled).toMatchObject({ actor: 'evidence', outcome: 'SUCCEEDED', seen });
  const text =
    'The registry shows that the name was registered at the time this was sent, with the requested nameservers.';
  if (settled === undefined) throw new Error('the order was not settled');
  const after = await rig.read(order.id);
  expect(JSON.stringify(orderReply(after, settled, []))).toContain(text);
  expect(JSON.stringify(orderHistory(after, [settled]))).toContain(`“${text}”`);
  expect(await buildOrderCells({ order: after, entry: settled, decisions: [] }, async (id) => id)).toContain(
    text,
  );
  expect(await rig.listItemsForWatchList(order.id)).toEqual([1]);
});

test('a hint doesn’t settle an order, but is shown on the card, in the form and in the audit log', async () => {
  const order = await requestWithUnknownOutcomes('hint.rest');
  await rig.markShown(order.id);
  await settleByEvidence(order.id, () => newHint());
  const hinted = await rig.read(order.id);
  expect(hinted).toEqual({
    ...order,
    version: order.version + 1,
    items: [
      {
        ...order.items[0],
        result: {
          ...order.items[0]?.result,
          hint: { seen: { code: 'not_registered' }, source: 'rdap.example', seenAt: rig.now.toISOString() },
        },
      },
    ],
  });
  expect((await rig.readDueTimes(order.id)).notifications).toEqual(rig.now);
  const text =
    /Public records \(not proof\).*No registration of the name was found\. Source: `rdap\.example`, <!date/;
  expect(await renderCurrentCard(order.id)).toMatch(text);
  expect(JSON.stringify(publicRecordLines(hinted))).toMatch(text);
  expect(publicRecordLines(order), 'lines before the hint').toEqual([
    'I found nothing conclusive in public records.',
  ]);
  const history = await rig.store.loadHistory(order.id, 'system');
  expect(JSON.stringify(orderHistory(order, history))).toMatch(/found in public records: .*No registration/);
  const lastEntry = history.at(-1);
  if (lastEntry === undefined) throw new Error('the history is empty');
  expect(lastEntry).toMatchObject({ kind: 'hinted', actor: 'system', state: 'UNKNOWN' });
  expect(
    await buildOrderCells({ order: hinted, entry: lastEntry, decisions: [] }, async (id) => id),
  ).toContain(HINT);
});

test('each different hint is recorded once', async () => {
  const order = await requestWithUnknownOutcomes('again.rest');
  const countHints = async () => (await rig.listHistory(order.id)).filter((kind) => kind === 'hinted').length;
  for (let turn = 0; turn < 5; turn += 1) {
    rig.advanceClock(5 * MINUTE_MS);
    await settleByEvidence(order.id, () => newHint());
  }
  expect(await countHints()).toBe(1);
  await settleByEvidence(order.id, () => newHint({ code: 'not_registered' }, 'rdap.other.example'));
  await settleByEvidence(order.id, () => newHint(seenStatuses('active')));
  expect(await countHints()).toBe(3);
  await Promise.all([1, 2, 3].map(() => settleByEvidence(order.id, () => newHint(seenStatuses('inactive')))));
  expect(await countHints(), 'hints after concurrent lookups').toBe(4);
});

test('a hint disappears once a person settles the order', async () => {
  const order = await requestWithUnknownOutcomes('people.rest');
  await settleByEvidence(order.id, () => newHint());
  expect(await renderCurrentCard(order.id)).toContain('Public records (not proof)');
  expect((await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', undefined)).ok).toBe(true);
  expect(await renderCurrentCard(order.id)).not.toContain('Public records');
  const settled = await rig.read(order.id);
  await settleByEvidence(order.id, () => newHint(seenStatuses('active')));
  expect(await rig.read(order.id)).toEqual(settled);
});
