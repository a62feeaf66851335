import { randomBytes } from 'node:crypto';
import { SANDBOX_TRANSFER } from '@domain-steward/sandbox-service';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findSealedKeys } from '../../src/store/sealed-keys.ts';
import { actAndReadReply, DOMAINS, link, openForm, readCommandReply, until } from '../support/demo.ts';
import { type RunningBot, SHORT_LEASES, type Surroundings, startSurroundings } from '../support/harness.ts';
import { requestByCommand, requestsOf, type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { DELEGATION } from '../support/people.ts';

/* The key is rotated while two replicas are working: in the documented order, and in the wrong order. */

const MAX_WAIT_MS = 180_000;
const KEYS = { old: randomBytes(32), new: randomBytes(32), next: randomBytes(32) };
type KeyId = keyof typeof KEYS;

let s: Surroundings;
let db: pg.Client;
let one: RunningBot;
let two: RunningBot;
let names = 0;

beforeAll(async () => {
  s = await startSurroundings();
  db = new pg.Client({ connectionString: s.databaseUrl });
  await db.connect();
  one = await startWith('old');
  two = await startWith('old');
  await link(s.workspace, alice());
}, MAX_WAIT_MS);
afterAll(async () => {
  await db.end();
  await s.stop();
});

const alice = () => s.workspace.as('U0ALICE');
const bob = () => s.workspace.as('U0BOB');

function startWith(...ids: readonly KeyId[]): Promise<RunningBot> {
  const keys = ids.map((id) => `${id}:${KEYS[id].toString('base64')}`).join(',');
  return s.start(SHORT_LEASES, { CREDENTIALS_KEYS: keys });
}

async function restart(bot: RunningBot, ...ids: readonly KeyId[]): Promise<RunningBot> {
  await bot.child.kill('SIGTERM');
  return startWith(...ids);
}

/** Sends Slack's deliveries to this bot. */
function routeTo(bot: RunningBot): void {
  s.workspace.setRequestUrl(`${bot.url}/slack/events`);
}

/** Requests a renewal at one bot and approves it at another. */
async function approveAt(bot: RunningBot, requestedAt: RunningBot): Promise<VisibleOrder> {
  names += 1;
  const { name } = s.service.state.addDomain({ name: `rotation${names}.rest`, context: 4 });
  routeTo(requestedAt);
  const order = await requestByCommand(s.workspace, alice(), `/domain renew ${name}`, DOMAINS, name);
  routeTo(bot);
  await bob().click(order.card, 'order_approve');
  return order;
}

async function expectBothWork(): Promise<void> {
  await (await approveAt(two, one)).waitForResult('SUCCEEDED', 30_000);
  await (await approveAt(one, two)).waitForResult('SUCCEEDED', 30_000);
}

/** The keys in use, as `doctor` reports them. */
async function keysInUse(): Promise<string[]> {
  return (await findSealedKeys(db)).map(({ nouns: [, plural], keyId }) => `${plural} ${keyId}`).sort();
}

const stateOf = async (order: VisibleOrder) =>
  (await db.query<{ state: string }>('SELECT state FROM orders WHERE id = $1', [order.id])).rows[0]?.state;

/** How often a bot tried to open something without its key. */
async function countMissingKeys(bot: RunningBot): Promise<number> {
  const metrics = await (await fetch(`${bot.url}/metrics`)).text();
  return Number(/^domain_steward_unknown_key_total (\d+)$/m.exec(metrics)?.[1]);
}

test(
  'adding the new key, moving it to the front and removing the old one interrupts nothing',
  async () => {
    const form = await openForm(s.workspace, alice(), `/domain transfer ${SANDBOX_TRANSFER.name}`);
    const transfer = await waitForOrder(s.workspace, () =>
      alice().submit(form, { ...DELEGATION, auth: SANDBOX_TRANSFER.authCode }),
    );
    const bots: RunningBot[] = [one, two];
    for (const keys of [['old', 'new'] as const, ['new', 'old'] as const]) {
      one = await restart(one, ...keys);
      await expectBothWork();
      two = await restart(two, ...keys);
      bots.push(one, two);
      await expectBothWork();
    }
    expect(
      bots.some(({ child }) => child.output().includes('encrypted credentials with the current key')),
    ).toBe(true);
    expect(await keysInUse()).toEqual(['accounts new', 'keys of the ledger new', 'orders old']);
    await bob().click(transfer.card, 'order_approve');
    await transfer.waitForResult('SUCCEEDED');
    expect(await keysInUse()).toEqual(['accounts new', 'keys of the ledger new']);

    one = await restart(one, 'new');
    two = await restart(two, 'new');
    bots.push(one, two);
    await expectBothWork();
    for (const { child } of bots) expect(child.output()).not.toContain('key is missing');
  },
  MAX_WAIT_MS,
);

test(
  'if one replica uses a key that the other lacks, nothing fails and work resumes once both have it',
  async () => {
    const { workspace } = s;
    one = await restart(one, 'next', 'new');
    await until('the credentials are resealed', async () => (await keysInUse()).includes('accounts next'));
    const [, address = ''] =
      /(http\S+\.ics)/.exec(await readCommandReply(workspace, alice(), '/domain calendar')) ?? [];
    const fetched = await requestByCommand(workspace, alice(), '/domain authcode olive.rest');
    const result = await fetched.waitForResult('SUCCEEDED');

    await (await approveAt(two, one)).waitForResult('SUCCEEDED', 30_000);

    routeTo(two);
    const refused = await readCommandReply(workspace, alice(), '/domain renew tapas.rest');
    expect(refused).toMatch(/an encryption key is missing.*[Nn]othing is lost.*Try again/s);
    expect(refused).not.toMatch(/domain link/);
    const hidden = await actAndReadReply(workspace, alice(), () => alice().click(result, 'order_reveal'));
    expect(hidden).toMatch(/key is missing.*kept for an hour/s);
    expect(await readCommandReply(workspace, alice(), '/domain calendar')).toMatch(/still works/);
    const feed = await fetch(new URL(new URL(address).pathname, two.url));
    expect(feed.status, 'status of the existing feed address').toBe(200);
    routeTo(one);
    await alice().click(result, 'order_reveal');
    await workspace.waitFor(() => alice().openedViews().at(-1), { what: 'the auth code' });

    // No remaining replica can carry this order out.
    names += 1;
    const { name } = s.service.state.addDomain({ name: `rotation${names}.rest`, context: 4 });
    const order = await requestByCommand(workspace, alice(), `/domain renew ${name}`, DOMAINS, name);
    await one.child.kill('SIGKILL');
    routeTo(two);
    const before = await countMissingKeys(two);
    await bob().click(order.card, 'order_approve');
    await until('another attempt', async () => (await countMissingKeys(two)) > before + 1, 30_000);
    expect(await stateOf(order)).toBe('APPROVED');
    expect(requestsOf(s.service, order)).toEqual([]);
    await two.child.line(/"keyId":"next".*key is missing/);

    two = await restart(two, 'new', 'next');
    await order.waitForResult('SUCCEEDED', 30_000);
    expect(requestsOf(s.service, order)).toHaveLength(1);
    const { rows } = await db.query(`SELECT id FROM orders WHERE state = 'FAILED'`);
    expect(rows).toEqual([]);
  },
  MAX_WAIT_MS,
);
