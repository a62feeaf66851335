import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import type { Message } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Demo, startDemo } from '../../demo/demo.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import {
  buttonsOf,
  DOMAINS,
  link,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
} from '../support/demo.ts';
import { waitForOrder } from '../support/orders.ts';
import { type RunningWhois, startWhois } from '../support/whois-server.ts';

/*
 * A team starts with only Slack's tokens, three names and reminders, renews a name elsewhere, then connects a domain
 * service and orders a renewal. Each test continues where the previous one ended.
 */

const DAY_MS = 86_400_000;
const WATCH_ONLY = {
  ...{ SERVICE_JSON_URL: '', SERVICE_XML_URL: '', APPROVERS: '', ADMINS: '', REMINDER_CHANNEL: '' },
};

let database: TestDatabase;
let dataDir: string;
let whois: RunningWhois;
let demo: Demo;

const ada = () => demo.workspace.as('U0ADA');
const send = (line: string) => readCommandReply(demo.workspace, ada(), `/domain ${line}`);

function register(name: string, days: number, registrar = 'Sandbox Registrar Ltd'): void {
  const noon = new Date(demo.service.clock.registryTime() + days * DAY_MS).setUTCHours(12, 0, 0, 0);
  demo.service.state.addDomain({ name, context: 4, expires: noon });
  const statuses = ['active', 'client transfer prohibited'];
  demo.service.registry.show(name, { registrar: { ianaId: registrar, name: registrar }, statuses });
}

async function start(settings: Readonly<Record<string, string>>): Promise<void> {
  const { host, port } = whois.server;
  demo = await startDemo({
    ...{ port: 0, dataDir, databaseUrl: database.url },
    settings: { WHOIS: 'auto', WHOIS_SERVERS: `io=${host}:${port}`, ...settings },
  });
}

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-watch-'));
  whois = await startWhois(
    () => 'Domain Name: LADEN.IO\r\nRegistrar: Gandi SAS\r\nRegistry Expiry Date: 2031-05-04T10:00:00Z\r\n',
  );
  await start(WATCH_ONLY);
});
afterAll(async () => {
  await demo.stop();
  whois.close();
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

test('watching a list of names shows a line for each, with its expiry and problems', async () => {
  register('cafe.rest', 7);
  register('bar.rest', 300);
  const answer = await send('watch cafe.rest, <http://bar.rest|bar.rest>;laden.io www.cafe.rest');
  expect(answer).toMatch(/3 names watched/);
  expect(answer).toMatch(
    /\*cafe\.rest\* · expires .* \(in 7 days\), from the registry · Sandbox Registrar Ltd · .*expires within 30 days/,
  );
  expect(answer).toMatch(
    /\*bar\.rest\* · expires .* \(in 300 days\), from the registry · Sandbox Registrar Ltd/,
  );
  expect(answer).toMatch(/\*laden\.io\* · expires 4 May 2031 .*, from WHOIS · Gandi SAS/);
  expect(answer).toMatch(/www\.cafe\.rest.*cafe\.rest/);
  expect(buttonsOf(ada().ephemerals().at(-1) ?? { blocks: [] })).toEqual(['watch_domain', 'reminders_here']);
  expect(await send('name laden.io')).toMatch(/Expires 4 May 2031\*.*according to WHOIS/);
});

test.each([
  [Array.from({ length: 51 }, (_, n) => `n${n}.rest`).join(' '), /at most 50 names.*\/domain import/],
  ['cafe.rest bar.rest 2030-01-01', /a date only for a single name/],
  ['free.rest', /no record/],
  ['laden.museum', /don’t know its expiry date yet.*can’t be reached/s],
])('watch %s gets a reply with what to do', async (line, answer) => {
  expect(await send(`watch ${line}`)).toMatch(answer);
  await send('unwatch free.rest');
  await send('unwatch laden.museum');
});

test('an admin can choose the current channel for reminders', async () => {
  await send('watch cafe.rest');
  const offer = ada().ephemerals().at(-1);
  if (offer === undefined) throw new Error('no reply');
  const before = ada().ephemerals().length;
  await ada().click(offer, 'reminders_here');
  await until('the confirmation', () =>
    /now go to/.test(ada().ephemerals().slice(before).map(textOf).join()),
  );
  expect(demo.workspace.messages(DOMAINS).map(textOf).join()).toContain(
    'Expiry reminders will now be posted here',
  );
  expect(await send('watch cafe.rest')).not.toContain('reminder channel');
});

async function waitForDigest(days = 1): Promise<Message> {
  const before = new Set(demo.workspace.messages(DOMAINS).map(({ ts }) => ts));
  await demo.moveTime(days * DAY_MS);
  const isDigest = ({ ts, blocks }: Message) =>
    !before.has(ts) && blocks.some(({ block_id: id }) => id === 'due_0');
  return demo.workspace.waitFor(() => demo.workspace.messages(DOMAINS).findLast(isDigest), {
    what: 'a digest',
  });
}

test('a renewal elsewhere can be entered from the digest until the registry shows it', async () => {
  const message = await waitForDigest();
  expect(textOf(message)).toMatch(/cafe\.rest.* expires in 6 days/);
  const reminders = buttonsOf(message).filter((id) => id.startsWith('reminder_'));
  expect(reminders).toEqual(['reminder_renewed', 'reminder_snooze', 'reminder_lapse']);
  const click = () => ada().click(message, 'reminder_renewed', { value: 'cafe.rest' });
  const form = await performAndWaitForView(demo.workspace, ada(), click);
  expect(form).toMatchObject({ callback_id: 'renewed' });
  expect(await ada().submit(form, { expires: '2020-01-01' })).toMatchObject({
    errors: { expires: expect.stringContaining('isn’t after the current expiry date') },
  });
  const expires = new Date(demo.service.clock.registryTime() + 371 * DAY_MS).toISOString().slice(0, 10);
  expect(await ada().submit(form, { expires, note: 'at the old registrar' })).toMatchObject({
    outcome: 'closed',
  });
  const inThread = () => demo.workspace.messages(DOMAINS).filter(({ thread_ts }) => thread_ts === message.ts);
  const reply = await demo.workspace.waitFor(() => inThread()[0], { what: 'a reply' });
  expect(textOf(reply)).toMatch(/cafe\.rest.* was renewed elsewhere, reported by .*old registrar/);
  // The registry still shows the old date.
  await send('watch cafe.rest');
  expect((await demo.bot.expiry.find('cafe.rest'))?.expiry).toMatchObject({
    source: 'person',
    enteredBy: 'U0ADA',
  });
  register('cafe.rest', 365);
  await send('watch cafe.rest');
  expect((await demo.bot.expiry.find('cafe.rest'))?.expiry).toMatchObject({ source: 'rdap' });
});

test('connecting a domain service later loses nothing, and a renewal can be ordered', async () => {
  await demo.stop();
  await start({ REMINDER_CHANNEL: '' });
  const { workspace } = demo;
  const alice = workspace.as('U0ALICE');
  expect(await readCommandReply(workspace, alice, '/domain expiring 3000')).toMatch(
    /cafe\.rest[\s\S]*laden\.io/,
  );
  await link(workspace, alice, SANDBOX_ACCOUNTS.alice);
  const order = await waitForOrder(
    workspace,
    () => alice.command(DOMAINS, '/domain renew bar.rest'),
    DOMAINS,
  );
  await workspace.as('U0BOB').click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
});

test('a name at another registrar can be marked as renewed there, or renewed by an order', async () => {
  register('away.rest', 5, 'Elsewhere Registrar Inc.');
  register('near.rest', 4);
  await send('watch away.rest near.rest');
  // The restart has set the clock back by a day.
  const buttons = buttonsOf(await waitForDigest(2));
  expect(buttons.filter((id) => id === 'reminder_renew')).toHaveLength(2);
  expect(buttons.filter((id) => id === 'reminder_renewed')).toHaveLength(1);
});
