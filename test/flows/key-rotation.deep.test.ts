import { randomBytes } from 'node:crypto';
import { SANDBOX_TRANSFER } from '@domain-steward/sandbox-service';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findSealedKeys } from '../../src/store/sealed-keys.ts';
import { answerTo, DOMAINS, link, openForm, toldAfter, until } from '../support/demo.ts';
import { IMPATIENT, type RunningBot, type Surroundings, startSurroundings } from '../support/harness.ts';
import { ask, orderAfter, requestsOf, type SeenOrder } from '../support/orders.ts';
import { DELEGATION } from '../support/people.ts';

/* The key is rotated while two replicas work: in the guide's order, and in the wrong order. */

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

/** A bot with these keys. */
function startWith(...ids: readonly KeyId[]): Promise<RunningBot> {
  const keys = ids.map((id) => `${id}:${KEYS[id].toString('base64')}`).join(',');
  return s.start(IMPATIENT, { CREDENTIALS_KEYS: keys });
}

async function restart(bot: RunningBot, ...ids: readonly KeyId[]): Promise<RunningBot> {
  await bot.child.kill('SIGTERM');
  return startWith(...ids);
}

/** People's actions go to this bot from now on. */
function turnTo(bot: RunningBot): void {
  s.workspace.setRequestUrl(`${bot.url}/slack/events`);
}

/** A renewal that one bot accepts and another one must carry out. */
async function approvedAt(bot: RunningBot, askedAt: RunningBot): Promise<SeenOrder> {
  names += 1;
  const { name } = s.service.state.addDomain({ name: `rotation${names}.rest`, context: 4 });
  turnTo(askedAt);
  const order = await ask(s.workspace, alice(), `/domain renew ${name}`, DOMAINS, name);
  turnTo(bot);
  await bob().click(order.card, 'order_approve');
  return order;
}

async function bothWork(): Promise<void> {
  await (await approvedAt(two, one)).ends('SUCCEEDED', 30_000);
  await (await approvedAt(one, two)).ends('SUCCEEDED', 30_000);
}

/** The keys in use, as `doctor` reports them. */
async function keysInUse(): Promise<string[]> {
  return (await findSealedKeys(db)).map(({ nouns: [, plural], keyId }) => `${plural} ${keyId}`).sort();
}

const stateOf = async (order: SeenOrder) =>
  (await db.query<{ state: string }>('SELECT state FROM orders WHERE id = $1', [order.id])).rows[0]?.state;

/** How often a bot tried to open something without its key. */
async function missed(bot: RunningBot): Promise<number> {
  const metrics = await (await fetch(`${bot.url}/metrics`)).text();
  return Number(/^domain_steward_unknown_key_total (\d+)$/m.exec(metrics)?.[1]);
}

test(
  'added everywhere, then moved to the front, then the old one removed: everything works all the time',
  async () => {
    const form = await openForm(s.workspace, alice(), `/domain transfer ${SANDBOX_TRANSFER.name}`);
    const transfer = await orderAfter(s.workspace, () =>
      alice().submit(form, { ...DELEGATION, auth: SANDBOX_TRANSFER.authCode }),
    );
    const bots: RunningBot[] = [one, two];
    for (const keys of [['old', 'new'] as const, ['new', 'old'] as const]) {
      one = await restart(one, ...keys);
      await bothWork();
      two = await restart(two, ...keys);
      bots.push(one, two);
      await bothWork();
    }
    expect(
      bots.some(({ child }) => child.output().includes('encrypted credentials with the current key')),
    ).toBe(true);
    expect(await keysInUse()).toEqual(['accounts new', 'keys of the ledger new', 'orders old']);
    await bob().click(transfer.card, 'order_approve');
    await transfer.ends('SUCCEEDED');
    expect(await keysInUse()).toEqual(['accounts new', 'keys of the ledger new']);

    one = await restart(one, 'new');
    two = await restart(two, 'new');
    bots.push(one, two);
    await bothWork();
    for (const { child } of bots) expect(child.output()).not.toContain('key is missing');
  },
  MAX_WAIT_MS,
);

test(
  'moved to the front of one replica before the other one has it: nothing fails, and work continues when the key is there',
  async () => {
    const { workspace } = s;
    one = await restart(one, 'next', 'new');
    await until('it has sealed the credentials', async () => (await keysInUse()).includes('accounts next'));
    const [, address = ''] =
      /(http\S+\.ics)/.exec(await answerTo(workspace, alice(), '/domain calendar')) ?? [];
    const fetched = await ask(workspace, alice(), '/domain authcode olive.rest');
    const result = await fetched.ends('SUCCEEDED');

    await (await approvedAt(two, one)).ends('SUCCEEDED', 30_000);

    turnTo(two);
    const refused = await answerTo(workspace, alice(), '/domain renew tapas.rest');
    expect(refused).toMatch(/an encryption key is missing.*[Nn]othing is lost.*Try again/s);
    expect(refused).not.toMatch(/domain link/);
    const hidden = await toldAfter(workspace, alice(), () => alice().click(result, 'order_reveal'));
    expect(hidden).toMatch(/key is missing.*kept for an hour/s);
    expect(await answerTo(workspace, alice(), '/domain calendar')).toMatch(/still works/);
    const feed = await fetch(new URL(new URL(address).pathname, two.url));
    expect(feed.status, 'the address of before').toBe(200);
    turnTo(one);
    await alice().click(result, 'order_reveal');
    await workspace.waitFor(() => alice().openedViews().at(-1), { what: 'the auth code' });

    // Nobody is left who could carry it out.
    names += 1;
    const { name } = s.service.state.addDomain({ name: `rotation${names}.rest`, context: 4 });
    const order = await ask(workspace, alice(), `/domain renew ${name}`, DOMAINS, name);
    await one.child.kill('SIGKILL');
    turnTo(two);
    const before = await missed(two);
    await bob().click(order.card, 'order_approve');
    await until('it was tried again', async () => (await missed(two)) > before + 1, 30_000);
    expect(await stateOf(order)).toBe('APPROVED');
    expect(requestsOf(s.service, order)).toEqual([]);
    await two.child.line(/"keyId":"next".*key is missing/);

    two = await restart(two, 'new', 'next');
    await order.ends('SUCCEEDED', 30_000);
    expect(requestsOf(s.service, order)).toHaveLength(1);
    const { rows } = await db.query(`SELECT id FROM orders WHERE state = 'FAILED'`);
    expect(rows).toEqual([]);
  },
  MAX_WAIT_MS,
);
