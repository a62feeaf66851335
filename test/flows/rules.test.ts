import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import { expect, test } from 'vitest';
import { link, openForm, readCommandReply, useTestDemo } from '../support/demo.ts';
import { requestAndApprove, waitForOrder } from '../support/orders.ts';
import { CONTACTS_AND_NAMESERVERS } from '../support/people.ts';

/* `/domain rules` shows the rules of a zone, and the deadlines of a watched name. */

const t = useTestDemo({ linkedPeople: [] });

const DAY_MS = 86_400_000;
const addDays = (day: string, days: number) =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
const dayFromNow = (days: number) => addDays(new Date().toISOString().slice(0, 10), days);
/** Formats `2026-03-01` as `1 Mar 2026`. */
const formatDay = (day: string) =>
  new Date(day).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    timeZone: 'UTC',
  });

const runCommand = (words: string) => readCommandReply(t.workspace, t.alice, `/domain ${words}`);

test('without an argument, the zones with rules are listed', async () => {
  expect(await runCommand('rules')).toMatch(/\.rest.*\/domain rules rest/s);
});

test.each(['rest', '.rest', '.REST.'])('all rules of the zone %s are shown', async (zone) => {
  const text = await runCommand(`rules ${zone}`);
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
  const text = await runCommand('rules example');
  expect(text).toMatch(/No rules are documented.*1 or more.*hostnames.*Register \(create\)\nprobably/s);
});

test('for a watched name, the deadlines for its tasks are shown', async () => {
  const expiry = dayFromNow(30);
  await runCommand(`watch unheard-of.rest ${expiry}`);
  const replyBeforeExpiry = await runCommand('rules unheard-of.rest');
  expect(replyBeforeExpiry).toMatch(
    new RegExp(`registered.*Expiry date: ${formatDay(expiry)} \\(entered manually\\)`, 's'),
  );
  // The grace period is 45 days, then restoring is possible for 30 days. Each deadline is the last day.
  expect(replyBeforeExpiry).toContain(`Renew by ${formatDay(addDays(expiry, 44))}`);
  expect(replyBeforeExpiry).toContain(`Restore by ${formatDay(addDays(expiry, 74))} (assumed)`);
  expect(replyBeforeExpiry).toMatch(/renews automatically unless it’s deleted/);
  expect(replyBeforeExpiry).toContain('To be safe, the dates below assume it’s deleted');
  expect(replyBeforeExpiry).toContain(`Available to anyone from ${formatDay(addDays(expiry, 80))}`);

  await t.demo.moveTime(80 * DAY_MS);
  const replyAfterGrace = await runCommand('rules unheard-of.rest');
  expect(replyAfterGrace).toMatch(
    /grace period is over, and it may have been deleted.*To be safe.*Restore by/s,
  );
  expect(replyAfterGrace, 'the bot doesn’t know of a deletion').not.toContain('It was deleted');
  expect(replyAfterGrace).not.toContain('Renew by');
});

test('for a name that the bot registered, the end of its transfer lock is shown', async () => {
  await link(t.workspace, t.bob, SANDBOX_ACCOUNTS.bob);
  const view = await openForm(t.workspace, t.bob, '/domain create locked-again.rest');
  const order = await requestAndApprove(
    t.carol,
    waitForOrder(t.workspace, () => t.bob.submit(view, CONTACTS_AND_NAMESERVERS)),
  );
  await order.waitForResult('SUCCEEDED');
  const registeredAt = t.service.requestsFor({ task: 'domain.create' }).at(-1)?.at ?? 0;
  const registryTime = registeredAt + 80 * DAY_MS;
  const transferLockEnd = formatDay(new Date(registryTime + 60 * DAY_MS).toISOString().slice(0, 10));
  expect(await runCommand('rules locked-again.rest')).toContain(
    `Transfers are locked until *${transferLockEnd}*, 60 days after the registration.`,
  );
});

test('help lists what the service’s documentation doesn’t explain', async () => {
  expect(await runCommand('help')).toMatch(/single sign-on, contact management.*doesn’t show how/s);
});

test('for an unwatched name, the command to watch it is shown', async () => {
  expect(await runCommand('rules münchen.rest')).toMatch(/xn--mnchen-3ya\.rest.*\/domain watch/s);
});

test('an argument that isn’t one allowed name or zone is rejected with a reason', async () => {
  expect(await runCommand('rules кафе.rest')).toContain('letters that .rest doesn’t allow');
  expect(await runCommand('rules a.b.rest')).toContain('is a subdomain of b.rest');
  expect(await runCommand('rules not_a.rest')).toContain('underscore');
  expect(await runCommand('rules one.rest two.rest')).toContain('Enter one name or one zone');
});
