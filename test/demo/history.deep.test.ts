import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Actor, Message } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { type Demo, startDemo } from '../../demo/demo.ts';
import { RESTAURANTS } from '../../demo/history.ts';
import { PersonActions } from '../../demo/people.ts';
import { createLog } from '../../src/lib/log.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { link, readCommandReply, textOf, until } from '../support/demo.ts';
import { orderOf, requestByCommand } from '../support/orders.ts';

/* The demo starts in a workspace with a history, and continues from there after a restart. */

const DAY_MS = 86_400_000;
const PEOPLE = ['U0ALICE', 'U0BOB', 'U0CAROL', 'U0ADA'];
/** Each person's ephemeral messages when the demo was ready. */
const ephemeralsAtStart = new Map<string, readonly Message[]>();
let logged = '';
let database: TestDatabase;
let dataDir: string;
let demo: Demo;

async function startWithHistory(): Promise<Demo> {
  const log = createLog('warn', {
    write: (line) => {
      logged += line;
    },
  });
  return startDemo({ port: 0, dataDir, databaseUrl: database.url, log, lived: true });
}

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-history-'));
  demo = await startWithHistory();
  for (const id of PEOPLE) ephemeralsAtStart.set(id, person(id).ephemerals());
}, 180_000);
afterAll(async () => {
  await demo.stop();
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

const person = (id: string) => demo.workspace.as(id);
const askBot = (who: Actor, command: string) => readCommandReply(demo.workspace, who, command);
const cards = () =>
  demo.workspace
    .messages(RESTAURANTS)
    .filter(({ thread_ts }) => thread_ts === undefined)
    .flatMap((message) => orderOf(message) ?? []);

test('the history is complete', () => {
  expect(logged).not.toContain('less history');
  expect(cards().map(({ state }) => state)).toEqual(
    expect.arrayContaining(['SUCCEEDED', 'DENIED', 'PENDING']),
  );
});

test('the history covers the last thirty days', () => {
  const times = demo.workspace.messages(RESTAURANTS).map(({ ts }) => Number(ts) * 1_000);
  expect(Math.min(...times)).toBeGreaterThan(Date.now() - 31 * DAY_MS);
  expect(Math.min(...times)).toBeLessThan(Date.now() - 27 * DAY_MS);
  expect(Math.max(...times)).toBeLessThan(Date.now());
});

test.each(PEOPLE)('the Home tab of %s has an order to approve', async (id) => {
  await person(id).openHome();
  await demo.workspace.waitFor(
    () => {
      const home = demo.workspace.homeView(id);
      return home !== undefined && JSON.stringify(home.blocks).includes('order_approve') ? home : undefined;
    },
    { what: 'a Home tab with an order to approve', timeoutMs: 10_000 },
  );
});

test('the spending, orders, names and mandates commands have content', async () => {
  const bob = person('U0BOB');
  // In January, some of the demo's thirty days are in the year before.
  const year = new Date(Date.now() - 20 * DAY_MS).getUTCFullYear();
  expect(await askBot(bob, `/domain spend ${year}`)).toMatch(/Spent about €\d+\.00 in \d+/);
  expect(await askBot(bob, '/domain orders mine')).toContain('tapas.rest');
  expect(await askBot(bob, '/domain names tag:brand')).toContain('cafe.rest');
  expect(await askBot(bob, '/domain mandates')).toContain('1 mandate in force');
});

test('most names are fine, and a few have typical findings', async () => {
  // Imported names are looked up in the background.
  await until('all names are looked up', async () => {
    const reply = await askBot(person('U0ADA'), '/domain posture');
    const [, fine, total] = /^(\d+) of (\d+) names are fine/.exec(reply) ?? [];
    return Number(fine) / Number(total) > 0.7;
  });
  const [message] = person('U0ADA').ephemerals().slice(-1);
  const text = textOf(message ?? { blocks: [] });
  expect(text).toMatch(/deli\.rest\W+the certificate has expired/);
  expect(text).toMatch(/pantry\.rest\W+DNSSEC is broken/);
  expect(text).toMatch(/olive\.rest\W+no transfer lock/);
  expect(text).toMatch(/mezze\.rest\W+no owner/);
  expect(text).not.toContain('brasserie.rest');
});

test('the history leaves no ephemeral messages', () => {
  expect([...ephemeralsAtStart.values()].flat()).toEqual([]);
  expect(ephemeralsAtStart.size).toBe(PEOPLE.length);
});

test('the history has one incident, which was confirmed as ours', () => {
  const incidents = demo.workspace
    .messages('C0EXPIRY')
    .filter(
      ({ metadata, thread_ts }) => metadata?.event_type === 'domain_incident' && thread_ts === undefined,
    );
  expect(incidents.map(textOf).join()).toContain('brasserie.rest: it was us');
  expect(incidents).toHaveLength(1);
});

test('all events are sealed, and a past order has a receipt', async () => {
  const [first] = cards();
  await until('everything is sealed', async () => {
    await demo.bot.catchUp();
    return !/is not sealed yet/.test(await askBot(person('U0BOB'), `/domain receipt ${first?.id}`));
  });
  const files = demo.workspace.messages('D0BOB').flatMap((message) => message.files ?? []);
  const { url_private_download: url = '' } = files.at(-1) ?? {};
  const receipt = await (await fetch(new URL(url, demo.workspace.url))).text();
  expect(receipt).toContain('"type":"receipt"');
  expect(receipt).toContain('"type":"seal"');
});

test('the requests panel starts empty, and a click approves because the policy is signed', async () => {
  const response = await fetch(new URL('/local/requests', demo.workspace.url));
  const { requests } = z
    .object({ requests: z.array(z.object({ task: z.string() })) })
    .parse(await response.json());
  expect(requests.filter(({ task }) => !task.startsWith('rdap.'))).toEqual([]);
  await link(demo.workspace, person('U0ALICE'));
  const order = await requestByCommand(demo.workspace, person('U0ALICE'), '/domain renew cafe.rest 2');
  await person('U0BOB').click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
});

test('after a restart on another port, the demo keeps its orders, signatures and mandate', async () => {
  const before = cards().map(({ id }) => id);
  const bob = new PersonActions(demo.workspace, 'U0BOB');
  await bob.clickAndWait(await bob.typeCommand('/domain mandates'), 'mandate_end');
  await demo.stop();
  demo = await startWithHistory();
  expect(logged).not.toContain('less history');
  expect(await askBot(person('U0BOB'), '/domain mandates')).toContain('1 mandate in force');
  const after = cards().map(({ id }) => id);
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after).toHaveLength(before.length + 1);
  const order = await requestByCommand(demo.workspace, person('U0BOB'), '/domain renew deli.rest');
  await person('U0CAROL').click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
}, 60_000);
