import type { Message } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import { buttonsOf, readCommandReply, textOf, until, useTestDemo } from '../support/demo.ts';
import { requestByCommand } from '../support/orders.ts';

/*
 * Quirks of real registries: dates without a time zone, no dates, reserved registrar IDs, non-standard lock
 * statuses and missing records.
 */

const t = useTestDemo();
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const ALERT_CHANNEL = 'C0EXPIRY';

const send = (line: string) => readCommandReply(t.workspace, t.alice, `/domain ${line}`);
const readLastButtons = () => buttonsOf(t.alice.ephemerals().at(-1) ?? { blocks: [] });
const setRecord = (name: string, members: Readonly<Record<string, unknown>>) =>
  t.service.registry.show(name, { record: members });
const createExpirationEvent = (eventDate: string) => ({ eventAction: 'expiration', eventDate });
const createRegistrar = (name: string) => ({ registrar: { ianaId: '9999', name } });
const listIncidents = (name: string): Message[] =>
  t.workspace
    .messages(ALERT_CHANNEL)
    .filter(
      ({ metadata }) => metadata?.event_type === 'domain_incident' && metadata.event_payload['name'] === name,
    );
const listIncidentKinds = (name: string) =>
  listIncidents(name).map(({ metadata }) => metadata?.event_payload['kinds']);

const listChannelTexts = (): string[] =>
  t.workspace.messages(ALERT_CHANNEL).map((message) => textOf(message));

async function moveToNextDigest(): Promise<void> {
  await t.demo.moveTime(DAY_MS);
  await t.demo.bot.catchUp();
}

/** Looks up each name at the registry twice, two minutes apart. */
async function lookUpTwice(...names: readonly string[]): Promise<void> {
  for (const _ of [1, 2]) {
    await t.demo.moveTime(2 * MINUTE_MS);
    for (const name of names) await send(`watch ${name}`);
  }
}

test.each([
  ['2027-12-16', '15 Dec 2027'],
  ['2027-12-16T12:00:00', '15 Dec 2027'],
  ['2027-12-16t12:00:00+0000', '16 Dec 2027'],
])('the date %s is read as its earliest possible time', async (text, expectedDate) => {
  setRecord('soup.rest', { events: [createExpirationEvent(text), createExpirationEvent('never')] });
  expect(await send('watch soup.rest')).toContain(expectedDate);
});

test('an unreadable date is shown unchanged and doesn’t affect other fields', async () => {
  setRecord('noodle.rest', { events: [createExpirationEvent('16.12.2027')], status: ['Paid and in zone'] });
  t.service.registry.show('noodle.rest', createRegistrar('Proper Registrar GmbH'));
  expect(await send('watch noodle.rest')).toContain('can’t be read: “16.12.2027”');
  const nameReply = await send('name noodle.rest');
  expect(nameReply).toMatch(/an unreadable date, “16\.12\.2027”/);
  expect(nameReply).toMatch(/Registrar\* Proper Registrar GmbH/);
  expect(nameReply).toMatch(/Status\* Paid and in zone/);
  expect(await send('expiring 30')).toContain('can’t be read: “16.12.2027”');
});

test('a deleted name without dates offers a restore if one is possible, but never a renewal', async () => {
  setRecord('bakery.rest', { events: [], status: ['redemptionPeriod'] });
  const deletion = new Date(t.service.clock.registryTime() - 5 * DAY_MS).toISOString();
  setRecord('brunch.rest', {
    events: [{ eventAction: 'deletion', eventDate: deletion }],
    status: ['pending delete'],
  });
  const soon = new Date(t.service.clock.registryTime() + 20 * DAY_MS).toISOString().slice(0, 10);
  for (const name of ['bakery.rest', 'brunch.rest']) await send(`watch ${name} ${soon}`);

  expect(await send('name bakery.rest')).toMatch(
    /It was deleted\..*The deadline for a restore is unknown\. Ask the registrar/,
  );
  expect(readLastButtons()).toEqual(['reminder_restore', 'name_edit']);
  expect(await send('name brunch.rest')).toMatch(
    /It’s being deleted\..*It can’t be recovered\. Its registration would have ended/,
  );
  expect(readLastButtons()).toEqual(['name_edit']);

  const list = await send('expiring 60');
  expect(list).toMatch(/bakery\.rest.*deleted.*restore deadline unknown, so restore it now/);
  expect(list).toMatch(/brunch\.rest.*deleted.*can’t be recovered/);
  expect(readLastButtons().filter((id) => id === 'reminder_restore')).toHaveLength(1);
  await t.alice.openHome();
  await until('bakery.rest on Home', () =>
    textOf(t.alice.homeView() ?? { blocks: [] }).includes('bakery.rest'),
  );
  const home = textOf(t.alice.homeView() ?? { blocks: [] });
  expect(home).toMatch(/bakery\.rest\n–\nRestore/);
  expect(home).not.toContain('brunch.rest');

  for (const name of ['bakery.rest', 'brunch.rest']) {
    const { card } = await requestByCommand(t.workspace, t.alice, `/domain renew ${name}`);
    expect(textOf(card)).toContain('It was deleted, so a renewal can’t recover it');
    expect(textOf(card)).not.toContain('→');
  }
});

test('a deleted name can be restored even if its expiry date was never known', async () => {
  setRecord('tapas.rest', { events: [], status: ['redemption period'] });
  await send('watch tapas.rest');
  expect(await send('name tapas.rest')).toMatch(
    /It was deleted\..*The deadline for a restore is unknown\. Ask the registrar/,
  );
  expect(readLastButtons()).toEqual(['reminder_restore', 'name_edit']);
  expect(await send('expiring 30')).toMatch(/tapas\.rest.*deleted, restore now/);
  await t.alice.openHome();
  await until('the restore button on Home', () =>
    /tapas\.rest\n–\nRestore/.test(textOf(t.alice.homeView() ?? { blocks: [] })),
  );
});

test('a new registrar with the same reserved ID and a removed non-standard lock are incidents', async () => {
  t.service.registry.show('bar.rest', createRegistrar('Proper Registrar GmbH'));
  t.service.registry.show('deli.rest', {
    statuses: ['transfer prohibited', 'update prohibited', 'delete prohibited'],
  });
  t.service.registry.show('grill.rest', { statuses: ['LOCKED'] });
  const names = ['bar.rest', 'deli.rest', 'grill.rest'];
  for (const name of names) await send(`watch ${name}`);
  t.service.registry.show('bar.rest', createRegistrar('Elsewhere Registrar Inc.'));
  for (const name of ['deli.rest', 'grill.rest']) t.service.registry.show(name, { statuses: ['active'] });
  await lookUpTwice(...names);
  for (const [name, kind] of [
    ['bar.rest', 'registrar'],
    ['deli.rest', 'lock'],
    ['grill.rest', 'lock'],
  ] as const) {
    await until(`the incident of ${name}`, () => listIncidentKinds(name).includes(kind));
  }
});

test('a missing registry record of a delegated name isn’t an incident until DNS confirms it', async () => {
  const names = ['cafe.rest', 'buffet.rest'];
  for (const name of names) await send(`watch ${name}`);
  for (const name of names) t.service.registry.show(name, { isGone: true });
  await lookUpTwice(...names);
  await t.demo.bot.catchUp();
  expect(names.flatMap(listIncidentKinds)).toEqual([]);
  expect(await send('name cafe.rest')).toMatch(/Registrar.*no record of it, but DNS still delegates it/);
  expect(await send('expiring 90')).toContain('no record of it, but DNS still delegates it');

  await moveToNextDigest();
  const notes = listChannelTexts().filter((text) => text.includes('The .rest registry'));
  expect(notes, 'notes about the registry').toHaveLength(1);
  expect(notes[0]).toMatch(
    /no record of 2 of your names, although DNS still delegates them: buffet\.rest, cafe\.rest\./,
  );
  await moveToNextDigest();
  expect(listChannelTexts().filter((text) => text.includes('The .rest registry'))).toHaveLength(1);

  const dns = t.demo.dns.sandbox;
  if (dns === undefined) throw new Error('the demo has no DNS');
  dns.world.delegateAt('a.nic.rest', 'buffet.rest', undefined);
  await lookUpTwice('buffet.rest');
  await until('the incident once DNS agrees', () => listIncidentKinds('buffet.rest').length > 0);
  expect(String(listIncidentKinds('buffet.rest')[0])).toContain('unregistered');
  expect(listIncidentKinds('cafe.rest')).toEqual([]);
});

test('only one digest offers to restore a deleted name without dates', async () => {
  const restoreOffers = t.workspace
    .messages(ALERT_CHANNEL)
    .filter((message) => textOf(message).includes('tapas.rest') && buttonsOf(message).length > 0);
  expect(restoreOffers).toHaveLength(1);
  expect(textOf(restoreOffers[0] ?? { blocks: [] })).toMatch(/tapas\.rest.*restore/is);
  expect(buttonsOf(restoreOffers[0] ?? { blocks: [] })).toContain('reminder_restore');
});
