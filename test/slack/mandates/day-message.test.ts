import { expect, test } from 'vitest';
import type { OrderState } from '../../../src/orders/order.ts';
import { mandateDayMessage, type NotifiedAct } from '../../../src/slack/mandates/mandate.view.ts';
import { sampleOrder } from '../orders/samples.ts';

const at = new Date('2027-06-14T12:00:00Z');

function createAct(name: string, state: OrderState | undefined): NotifiedAct {
  return {
    act: {
      id: name,
      name,
      expiresAt: new Date('2027-07-01T12:00:00Z'),
      mandateId: 'mandate',
      at,
      amount: undefined,
      held: state === undefined ? 'price_above' : undefined,
      orderId: undefined,
      announcedAt: undefined,
    },
    order: state && sampleOrder(state, {}, [name]),
  };
}

const renderDay = (...states: readonly (OrderState | undefined)[]) => {
  const acts = states.map((state, index) => createAct(`n${index}.rest`, state));
  const { text, blocks } = mandateDayMessage('2027-06-14', acts, { part: 0, isLast: true, timeZone: 'UTC' });
  return { text, blocks: JSON.stringify(blocks) };
};

test.each([
  [['APPROVED', 'APPROVED'], 'Mandates will renew 2 names starting tomorrow.', true],
  [['APPROVED', 'SUCCEEDED'], 'Mandates will renew 2 names starting tomorrow.', true],
  [['SUCCEEDED', 'CANCELLED'], 'Renewals by mandates: 2 names.', false],
  [
    ['APPROVED', undefined],
    'Mandates will renew 1 name starting tomorrow, but 1 name needs approval.',
    false,
  ],
  [['SUCCEEDED', undefined, undefined], 'Renewals by mandates: 1 name, but 2 names need approval.', false],
  [[undefined], 'Mandates can’t renew 1 name, so it needs approval.', false],
] as const)(
  'the message about %j begins with its state, and offers to stop what is left',
  (states, text, canStop) => {
    const shown = renderDay(...states);
    expect(shown.text).toBe(`${text} The first is n0.rest.`);
    expect(shown.blocks.includes('mandate_stop_all')).toBe(canStop);
    expect(shown.blocks.includes('*Stop* cancels')).toBe(states.some((state) => state === 'APPROVED'));
  },
);
