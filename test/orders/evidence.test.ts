import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { resolveByEvidence } from '../../src/orders/evidence.ts';
import type { Evidence } from '../../src/orders/ports.ts';
import type { EvidenceHint } from '../../src/orders/record-finding.ts';
import { resolveOrder } from '../../src/orders/resolve.ts';
import { orderRow } from '../../src/slack/ledger/audit.view.ts';
import { publicRecordLines } from '../../src/slack/orders/order.view.ts';
import { orderHistory, orderReply } from '../../src/slack/orders/thread.view.ts';
import { renderCard } from '../slack/orders/samples.ts';
import { contextWith } from '../support/context.ts';
import { MINUTE_MS, type Rig, startRig } from './rig.ts';
import { newServiceError } from './scripted-service.ts';

/* Public records settle an order that they prove to be done; otherwise they are a hint for people. */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

const HINT = 'No registration of the name was found.';
const hint = (seen: EvidenceHint = { code: 'not_registered' }, source = 'rdap.example'): Evidence => ({
  kind: 'hint',
  seen,
  source,
});
const statuses = (...seen: readonly string[]): EvidenceHint => ({ code: 'statuses_seen', statuses: seen });

/** A renewal with unknown outcomes. */
const requestUnknown = async (...names: string[]) => {
  rig.service.answer = async () => {
    throw newServiceError('unknown_outcome');
  };
  const order = await rig.requestApprovedRenewal(...names);
  await rig.runDue();
  return rig.read(order.id);
};
const lookUp = async (orderId: string, found: (name: string) => Evidence) =>
  resolveByEvidence(
    contextWith({
      ...rig.orders,
      findEvidence: async (_order, { name }) => found(name),
      lookupSignal: new AbortController().signal,
    }),
    await rig.read(orderId),
  );
const renderCurrentCard = async (orderId: string) =>
  JSON.stringify(renderCard(await rig.read(orderId), { approvers: [], now: rig.now }));

test('an order proved to be done is settled automatically', async () => {
  const order = await requestUnknown('one.rest', 'two.rest');
  const seen = { code: 'registered' } as const;
  await lookUp(order.id, (name) => (name === 'one.rest' ? { kind: 'done', seen } : { kind: 'nothing' }));
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
  expect(await orderRow({ order: after, entry: settled, decisions: [] }, async (id) => id)).toContain(text);
  expect(await rig.listItemsForWatchList(order.id)).toEqual([1]);
});

test('a hint doesn’t settle an order, but is shown on the card, in the form and in the audit log', async () => {
  const order = await requestUnknown('hint.rest');
  await rig.markShown(order.id);
  await lookUp(order.id, () => hint());
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
  expect(publicRecordLines(order), 'before').toEqual(['I found nothing conclusive in public records.']);
  const history = await rig.store.loadHistory(order.id, 'system');
  expect(JSON.stringify(orderHistory(order, history))).toMatch(/found in public records: .*No registration/);
  const line = history.at(-1);
  if (line === undefined) throw new Error('the history is empty');
  expect(line).toMatchObject({ kind: 'hinted', actor: 'system', state: 'UNKNOWN' });
  expect(await orderRow({ order: hinted, entry: line, decisions: [] }, async (id) => id)).toContain(HINT);
});

test('the same hint isn’t repeated, but a new one is shown', async () => {
  const order = await requestUnknown('again.rest');
  const countHints = async () => (await rig.listHistory(order.id)).filter((kind) => kind === 'hinted').length;
  for (let turn = 0; turn < 5; turn += 1) {
    rig.advanceClock(5 * MINUTE_MS);
    await lookUp(order.id, () => hint());
  }
  expect(await countHints()).toBe(1);
  await lookUp(order.id, () => hint({ code: 'not_registered' }, 'rdap.other.example'));
  await lookUp(order.id, () => hint(statuses('active')));
  expect(await countHints()).toBe(3);
  await Promise.all([1, 2, 3].map(() => lookUp(order.id, () => hint(statuses('inactive')))));
  expect(await countHints(), 'hints after concurrent lookups').toBe(4);
});

test('a hint disappears once a person settles the order', async () => {
  const order = await requestUnknown('people.rest');
  await lookUp(order.id, () => hint());
  expect(await renderCurrentCard(order.id)).toContain('Public records (not proof)');
  expect((await resolveOrder(rig.orders, order.id, 'U0BOB', 'FAILED', undefined)).ok).toBe(true);
  expect(await renderCurrentCard(order.id)).not.toContain('Public records');
  const settled = await rig.read(order.id);
  await lookUp(order.id, () => hint(statuses('active')));
  expect(await rig.read(order.id)).toEqual(settled);
});
