import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import { expect, test } from 'vitest';
import { link, openForm, readCommandReply, useTestDemo } from '../support/demo.ts';
import { approveRequested, waitForOrder } from '../support/orders.ts';
import { DELEGATION } from '../support/people.ts';

/* `/domain rules`: the rules of a zone, and the dates of a watched name. */

const t = useTestDemo({ linked: [] });

const DAY_MS = 86_400_000;
const shift = (day: string, days: number) =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
const dayFromNow = (days: number) => shift(new Date().toISOString().slice(0, 10), days);
/** `2026-03-01` as `1 Mar 2026`. */
const formatDay = (day: string) =>
  new Date(day).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });

const send = (line: string) => readCommandReply(t.workspace, t.alice, `/domain ${line}`);

test('without an argument, the zones with rules are listed', async () => {
  expect(await send('rules')).toMatch(/\.rest.*\/domain rules rest/s);
});

test.each(['rest', '.rest', '.REST.'])('all rules of the zone %s are shown', async (zone) => {
  const text = await send(`rules ${zone}`);
  expect(text).toContain('Rules for .rest');
  for (const part of [
    ...[
      '1 to 63 characters',
      'ISO-8859-1',
      '1 to 10 years',
      '2 to 7',
      'needs the auth code',
      'within 5 days',
    ],
    ...['also renews the name', '60 days after', 'owner email', 'admin email'],
    ...['tech email', 'Short or generic names'],
    ...['45-day grace period', '30 days', '5 days', 'real-time', 'DNSSEC', 'WHOIS privacy', 'open to anyone'],
  ])
    expect(text, part).toContain(part);
  expect(text, 'each task with its charge').toMatch(/Restore \(restore\)\nyes\nmanual/);
  expect(text).toMatch(/restoreARGP\nno\nautomatic\nthe documentation doesn’t show how to request it/);
  expect(text).toMatch(/Start an owner change\nnot documented/);
  expect(text).toMatch(/Get the auth code\nnot documented/);
  expect(text).toMatch(/EF00805.*EF0103118/);
  expect(text).toMatch(/renews automatically \(standard auto-renew\).*ends early if the name is deleted/);
  expect(text).toMatch(/single sign-on.*doesn’t show how/);
  expect(text).toMatch(/Delete \(delete\)\nno\nautomatic/);
});

test('for a zone without documented rules, the general ones are shown', async () => {
  const text = await send('rules example');
  expect(text).toMatch(/No rules are documented.*1 or more.*hostnames.*Register \(create\)\nprobably/s);
});

test('for a watched name, the deadlines for its tasks are shown', async () => {
  const expiry = dayFromNow(30);
  await send(`watch unheard-of.rest ${expiry}`);
  const ahead = await send('rules unheard-of.rest');
  expect(ahead).toMatch(
    new RegExp(`registered.*Expiry date: ${formatDay(expiry)} \\(entered manually\\)`, 's'),
  );
  // 45 days of grace, 30 days for a restore, 5 more days: each period ends on the day before.
  expect(ahead).toContain(`Renew by ${formatDay(shift(expiry, 44))}`);
  expect(ahead).toContain(`Restore by ${formatDay(shift(expiry, 74))} (assumed)`);
  expect(ahead).toMatch(/renews automatically unless it’s deleted/);
  expect(ahead).toContain('To be safe, the dates below assume it’s deleted');
  expect(ahead).toContain(`Available to anyone from ${formatDay(shift(expiry, 80))}`);

  await t.demo.moveTime(80 * DAY_MS);
  const late = await send('rules unheard-of.rest');
  expect(late).toMatch(/grace period is over, and it may have been deleted.*To be safe.*Restore by/s);
  expect(late, 'no known deletion').not.toContain('It was deleted');
  expect(late).not.toContain('Renew by');
});

test('for a name registered here, the end of its transfer lock is shown', async () => {
  await link(t.workspace, t.bob, SANDBOX_ACCOUNTS.bob);
  const view = await openForm(t.workspace, t.bob, '/domain create locked-again.rest');
  const order = await approveRequested(
    t.carol,
    waitForOrder(t.workspace, () => t.bob.submit(view, DELEGATION)),
  );
  await order.waitForResult('SUCCEEDED');
  const since = t.service.requestsFor({ task: 'domain.create' }).at(-1)?.at ?? 0;
  const clock = since + 80 * DAY_MS;
  const until = formatDay(new Date(clock + 60 * DAY_MS).toISOString().slice(0, 10));
  expect(await send('rules locked-again.rest')).toContain(
    `Transfers are locked until *${until}*, 60 days after the registration.`,
  );
});

test('help lists what the service’s documentation doesn’t explain', async () => {
  expect(await send('help')).toMatch(/single sign-on, contact management.*doesn’t show how/s);
});

test('for an unwatched name, the command to watch it is shown', async () => {
  expect(await send('rules münchen.rest')).toMatch(/xn--mnchen-3ya\.rest.*\/domain watch/s);
});

test('a name that its zone doesn’t allow is rejected with a reason', async () => {
  expect(await send('rules кафе.rest')).toContain('letters that .rest doesn’t allow');
  expect(await send('rules a.b.rest')).toContain('is a subdomain of b.rest');
  expect(await send('rules not_a.rest')).toContain('underscore');
  expect(await send('rules one.rest two.rest')).toContain('Enter one name or one zone');
});
