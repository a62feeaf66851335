import { expect, test } from 'vitest';
import type { Order } from '../../../src/orders/order.ts';
import {
  emergencyDirectMessage,
  emergencyReply,
  listEmergencyRecipients,
  signedOffReply,
} from '../../../src/slack/approvals/emergency.view.ts';
import { NOBODY_NOTIFIED } from '../../../src/slack/orders/order.view.ts';
import { refusalText } from '../../../src/slack/orders/refusal.view.ts';
import { newOrder } from '../../orders/sample.ts';
import { newOrderEvent } from '../../support/log.ts';

const order: Order = newOrder(['cafe.rest'], { state: 'APPROVED', emergencyApprovedBy: 'U0ADA' });
const event = (fields: object = {}) =>
  newOrderEvent('emergency_approved', 'APPROVED', {
    actor: 'U0ADA',
    reason: 'The <shop> is down',
    ...fields,
  });
const people = Array.from({ length: 23 }, (_, n) => `U0P${n + 1}`);

test('twenty approvers get a direct message, and the thread mentions others and unreadable groups', () => {
  const many = event({ approvers: people, unreadableGroups: ['S0LEGAL'] });
  expect(listEmergencyRecipients(many)).toEqual(people.slice(0, 20));
  const { text } = emergencyReply(order, many, { reachedIds: ['U0P1'], delayedIds: ['U0P2'] });
  expect(text).toContain('<@U0P21>, <@U0P22>, <@U0P23>, <!subteam^S0LEGAL>: you could have approved it too.');
  expect(text).not.toContain('<@U0P20>');
  expect(text).toContain('I messaged <@U0P1>. I’ll message <@U0P2> later.');
  const { text: withoutApprovers } = emergencyReply(order, event(), NOBODY_NOTIFIED);
  expect(withoutApprovers).not.toContain('could have');
  expect(withoutApprovers).toContain('I couldn’t reach any admin.');
});

test('the reason is quoted without mentions, and an unknown impact is mentioned', () => {
  const reply = emergencyReply(order, event({ isImpactUnknown: true }), NOBODY_NOTIFIED).text;
  expect(reply).toContain('“The &lt;shop&gt; is down”');
  expect(reply).toContain('The impact wasn’t known yet');
  expect(emergencyDirectMessage(order, event()).text).toContain('“The &lt;shop&gt; is down”');
  expect(emergencyDirectMessage(order, event()).text).toContain('Another admin has to sign off on it');
});

test('the reply names the admin who signed off', () => {
  const signed = newOrderEvent('signed_off', 'APPROVED', { actor: 'U0EVE' });
  expect(signedOffReply(newOrder(['cafe.rest']), signed).text).toContain(
    '<@U0EVE> signed off on the emergency approval',
  );
});

test('each refusal says what to do', () => {
  for (const refusal of [
    { code: 'not_an_admin', action: 'break_glass' },
    { code: 'not_an_admin', action: 'sign_off' },
    { code: 'emergency_on_own_order' },
    { code: 'break_glass_not_allowed' },
    { code: 'reason_missing' },
    { code: 'own_emergency_approval' },
    { code: 'own_order_to_sign_off' },
  ] as const) {
    expect(refusalText(refusal)).toMatch(/ask |Ask |has to sign off on it|Say why/);
  }
});
