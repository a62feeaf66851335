import { randomBytes } from 'node:crypto';
import { SANDBOX_TRANSFERABLE_DOMAIN } from '@domain-steward/sandbox-service';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSealedKeyUsages } from '../../src/store/sealed-keys.ts';
import { DOMAINS, link, openForm, performAndReadReply, readCommandReply, until } from '../support/demo.ts';
import {
  type BotEnvironment,
  type RunningBot,
  SHORT_LEASE_BOT,
  startBotEnvironment,
} from '../support/harness.ts';
import { requestByCommand, requestsOf, type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { CONTACTS_AND_NAMESERVERS } from '../support/people.ts';

/* The encryption key is rotated while two replicas run: in the documented order, and in a wrong order. */

const MAX_WAIT_MS = 180_000;
const KEYS = { old: randomBytes(32), new: randomBytes(32), next: randomBytes(32) };
type KeyId = keyof typeof KEYS;

let s: BotEnvironment;
let db: pg.Client;
let firstBot: RunningBot;
let secondBot: RunningBot;
let nameCount = 0;

beforeAll(async () => {
  s = await startBotEnvironment();
  db = new pg.Client({ connectionString: s.databaseUrl });
  await db.connect();
  firstBot = await startWithKeys('old');
  secondBot = await startWithKeys('old');
  await link(s.workspace, alice());
}, MAX_WAIT_MS);
afterAll(async () => {
  await db.end();
  await s.stop();
});

const alice = () => s.workspace.as('U0ALICE');
const bob = () => s.workspace.as('U0BOB');

function startWithKeys(...ids: readonly KeyId[]): Promise<RunningBot> {
  const keys = ids.map((id) => `${id}:${KEYS[id].toString('base64')}`).join(',');
  return s.start(SHORT_LEASE_BOT, { CREDENTIALS_KEYS: keys });
}

async function restartWithKeys(bot: RunningBot, ...ids: readonly KeyId[]): Promise<RunningBot> {
  await bot.child.kill('SIGTERM');
  return startWithKeys(...ids);
}

/** Sends Slack's deliveries to this bot. */
function routeTo(bot: RunningBot): void {
  s.workspace.setRequestUrl(`${bot.url}/slack/events`);
}

/** Requests a renewal at one bot and approves it at another. */
async function requestAndApprove(approvedAt: RunningBot, requestedAt: RunningBot): Promise<VisibleOrder> {
  nameCount += 1;
  const { name } = s.service.state.addDomain({ name: `rotation${nameCount}.rest`, context: 4 });
  routeTo(requestedAt);
  const order = await requestByCommand(s.workspace, alice(), `/domain renew ${name}`, DOMAINS, name);
  routeTo(approvedAt);
  await bob().click(order.card, 'order_approve');
  return order;
}

async function expectBothBotsWork(): Promise<void> {
  await (await requestAndApprove(secondBot, firstBot)).waitForResult('SUCCEEDED', 30_000);
  await (await requestAndApprove(firstBot, secondBot)).waitForResult('SUCCEEDED', 30_000);
}

/** The keys in use, as `doctor` reports them. */
async function readKeysInUse(): Promise<string[]> {
  return (await readSealedKeyUsages(db)).map(({ nouns: [, plural], keyId }) => `${plural} ${keyId}`).sort();
}

const readState = async (order: VisibleOrder) =>
  (await db.query<{ state: string }>('SELECT state FROM orders WHERE id = $1', [order.id])).rows[0]?.state;

/** How often a bot tried to decrypt data without its key. */
async function countMissingKeys(bot: RunningBot): Promise<number> {
  const metrics = await (await fetch(`${bot.url}/metrics`)).text();
  return Number(/^domain_steward_unknown_key_total (\d+)$/m.exec(metrics)?.[1]);
}

test(
  'adding the new key, moving it to the front and removing the old one interrupts nothing',
  async () => {
    const form = await openForm(s.workspace, alice(), `/domain transfer ${SANDBOX_TRANSFERABLE_DOMAIN.name}`);
    const transfer = await waitForOrder(s.workspace, () =>
      alice().submit(form, { ...CONTACTS_AND_NAMESERVERS, auth: SANDBOX_TRANSFERABLE_DOMAIN.authCode }),
    );
    const bots: RunningBot[] = [firstBot, secondBot];
    for (const keys of [['old', 'new'] as const, ['new', 'old'] as const]) {
      firstBot = await restartWithKeys(firstBot, ...keys);
      await expectBothBotsWork();
      secondBot = await restartWithKeys(secondBot, ...keys);
      bots.push(firstBot, secondBot);
      await expectBothBotsWork();
    }
    expect(
      bots.some(({ child }) => child.output().includes('encrypted credentials with the current key')),
    ).toBe(true);
    expect(await readKeysInUse()).toEqual(['accounts new', 'keys of the ledger new', 'orders old']);
    await bob().click(transfer.card, 'order_approve');
    await transfer.waitForResult('SUCCEEDED');
    expect(await readKeysInUse()).toEqual(['accounts new', 'keys of the ledger new']);

    firstBot = await restartWithKeys(firstBot, 'new');
    secondBot = await restartWithKeys(secondBot, 'new');
    bots.push(firstBot, secondBot);
    await expectBothBotsWork();
    for (const { child } of bots) expect(child.output()).not.toContain('key is missing');
  },
  MAX_WAIT_MS,
);

test(
  'if one replica uses a key that the other lacks, no order fails, and work resumes once both have it',
  async () => {
    const { workspace } = s;
    firstBot = await restartWithKeys(firstBot, 'next', 'new');
    await until('the credentials are resealed', async () =>
      (await readKeysInUse()).includes('accounts next'),
    );
    const [, feedAddress = ''] =
      /(http\S+\.ics)/.exec(await readCommandReply(workspace, alice(), '/domain calendar')) ?? [];
    const authCodeOrder = await requestByCommand(workspace, alice(), '/domain authcode olive.rest');
    const result = await authCodeOrder.waitForResult('SUCCEEDED');

    await (await requestAndApprove(secondBot, firstBot)).waitForResult('SUCCEEDED', 30_000);

    routeTo(secondBot);
    const renewReply = await readCommandReply(workspace, alice(), '/domain renew tapas.rest');
    expect(renewReply).toMatch(/an encryption key is missing.*[Nn]othing is lost.*Try again/s);
    expect(renewReply).not.toMatch(/domain link/);
    const revealReply = await performAndReadReply(workspace, alice(), () =>
      alice().click(result, 'order_reveal'),
    );
    expect(revealReply).toMatch(/key is missing.*kept for an hour/s);
    expect(await readCommandReply(workspace, alice(), '/domain calendar')).toMatch(/still works/);
    const feed = await fetch(new URL(new URL(feedAddress).pathname, secondBot.url));
    expect(feed.status, 'status of the existing feed address').toBe(200);
    routeTo(firstBot);
    await alice().click(result, 'order_reveal');
    await workspace.waitFor(() => alice().openedViews().at(-1), { what: 'the auth code' });

    // The remaining replica lacks the key for this order.
    nameCount += 1;
    const { name } = s.service.state.addDomain({ name: `rotation${nameCount}.rest`, context: 4 });
    const order = await requestByCommand(workspace, alice(), `/domain renew ${name}`, DOMAINS, name);
    await firstBot.child.kill('SIGKILL');
    routeTo(secondBot);
    const before = await countMissingKeys(secondBot);
    await bob().click(order.card, 'order_approve');
    await until(
      'another attempt without the key',
      async () => (await countMissingKeys(secondBot)) > before + 1,
      30_000,
    );
    expect(await readState(order)).toBe('APPROVED');
    expect(requestsOf(s.service, order)).toEqual([]);
    await secondBot.child.waitForLine(/"keyId":"next".*key is missing/);

    secondBot = await restartWithKeys(secondBot, 'new', 'next');
    await order.waitForResult('SUCCEEDED', 30_000);
    expect(requestsOf(s.service, order)).toHaveLength(1);
    const { rows } = await db.query(`SELECT id FROM orders WHERE state = 'FAILED'`);
    expect(rows).toEqual([]);
  },
  MAX_WAIT_MS,
);
