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
import { answerTo, link, textOf, until } from '../support/demo.ts';
import { ask, orderOf } from '../support/orders.ts';

/* The demo starts in a workspace with a history, and continues from there after a restart. */

const DAY_MS = 86_400_000;
const PEOPLE = ['U0ALICE', 'U0BOB', 'U0CAROL', 'U0ADA'];
/** Everyone's ephemeral messages when the demo was ready. */
const atTheStart = new Map<string, readonly Message[]>();
let logged = '';
let database: TestDatabase;
let dataDir: string;
let demo: Demo;

async function started(): Promise<Demo> {
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
  demo = await started();
  for (const id of PEOPLE) atTheStart.set(id, person(id).ephemerals());
}, 180_000);
afterAll(async () => {
  await demo.stop();
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

const person = (id: string) => demo.workspace.as(id);
const answer = (who: Actor, command: string) => answerTo(demo.workspace, who, command);
const cards = () =>
  demo.workspace
    .messages(RESTAURANTS)
    .filter(({ thread_ts }) => thread_ts === undefined)
    .flatMap((message) => orderOf(message) ?? []);

test('nothing of it is missing', () => {
  expect(logged).not.toContain('less history');
  expect(cards().map(({ state }) => state)).toEqual(
    expect.arrayContaining(['SUCCEEDED', 'DENIED', 'PENDING']),
  );
});

test('it covers the thirty days before now', () => {
  const times = demo.workspace.messages(RESTAURANTS).map(({ ts }) => Number(ts) * 1_000);
  expect(Math.min(...times)).toBeGreaterThan(Date.now() - 31 * DAY_MS);
  expect(Math.min(...times)).toBeLessThan(Date.now() - 27 * DAY_MS);
  expect(Math.max(...times)).toBeLessThan(Date.now());
});

test.each(PEOPLE)('an order waits for %s at Home', async (id) => {
  await person(id).openHome();
  await demo.workspace.waitFor(
    () => {
      const home = demo.workspace.homeView(id);
      return home !== undefined && JSON.stringify(home.blocks).includes('order_approve') ? home : undefined;
    },
    { what: 'a Home tab with an order to approve', timeoutMs: 10_000 },
  );
});

test('spending, orders, names and the mandate have content', async () => {
  const bob = person('U0BOB');
  expect(await answer(bob, '/domain spend')).toMatch(/Spent about €\d+\.00 in \d+/);
  expect(await answer(bob, '/domain orders mine')).toContain('tapas.rest');
  expect(await answer(bob, '/domain names tag:brand')).toContain('cafe.rest');
  expect(await answer(bob, '/domain mandates')).toContain('1 mandate in force');
});

test('most names are in order, and a few have telling findings', async () => {
  // The names of the import are looked up in the background.
  await until('all names are looked up', async () => {
    const told = await answer(person('U0ADA'), '/domain posture');
    const [, fine, total] = /^(\d+) of (\d+) names are fine/.exec(told) ?? [];
    return Number(fine) / Number(total) > 0.7;
  });
  const [message] = person('U0ADA').ephemerals().slice(-1);
  const shown = textOf(message ?? { blocks: [] });
  expect(shown).toMatch(/deli\.rest\W+the certificate has expired/);
  expect(shown).toMatch(/pantry\.rest\W+DNSSEC is broken/);
  expect(shown).toMatch(/olive\.rest\W+no transfer lock/);
  expect(shown).toMatch(/mezze\.rest\W+no owner/);
  expect(shown).not.toContain('brasserie.rest');
});

test('nobody has ephemeral messages from the history', () => {
  expect([...atTheStart.values()].flat()).toEqual([]);
  expect(atTheStart.size).toBe(PEOPLE.length);
});

test('one incident was solved', () => {
  const incidents = demo.workspace
    .messages('C0EXPIRY')
    .filter(
      ({ metadata, thread_ts }) => metadata?.event_type === 'domain_incident' && thread_ts === undefined,
    );
  expect(incidents.map(textOf).join()).toContain('brasserie.rest: it was us');
  expect(incidents).toHaveLength(1);
});

test('all events are sealed, and an order of the history has a receipt', async () => {
  const [first] = cards();
  await until('everything is sealed', async () => {
    await demo.bot.catchUp();
    return !/is not sealed yet/.test(await answer(person('U0BOB'), `/domain receipt ${first?.id}`));
  });
  const files = demo.workspace.messages('D0BOB').flatMap((message) => message.files ?? []);
  const { url_private_download: url = '' } = files.at(-1) ?? {};
  const receipt = await (await fetch(new URL(url, demo.workspace.url))).text();
  expect(receipt).toContain('"type":"receipt"');
  expect(receipt).toContain('"type":"seal"');
});

test('a click approves, because the policy is signed; and the guide’s panel starts empty', async () => {
  const answered = await fetch(new URL('/local/requests', demo.workspace.url));
  const { requests } = z
    .object({ requests: z.array(z.object({ task: z.string() })) })
    .parse(await answered.json());
  expect(requests.filter(({ task }) => !task.startsWith('rdap.'))).toEqual([]);
  await link(demo.workspace, person('U0ALICE'));
  const order = await ask(demo.workspace, person('U0ALICE'), '/domain renew cafe.rest 2');
  await person('U0BOB').click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
});

test('after a restart at another port it continues, with the signatures and the mandate, and doesn’t start over', async () => {
  const before = cards().map(({ id }) => id);
  const bob = new PersonActions(demo.workspace, 'U0BOB');
  await bob.clickAndWait(await bob.typeCommand('/domain mandates'), 'mandate_end');
  await demo.stop();
  demo = await started();
  expect(logged).not.toContain('less history');
  expect(await answer(person('U0BOB'), '/domain mandates')).toContain('1 mandate in force');
  const after = cards().map(({ id }) => id);
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after).toHaveLength(before.length + 1);
  const order = await ask(demo.workspace, person('U0BOB'), '/domain renew deli.rest');
  await person('U0CAROL').click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
}, 60_000);
