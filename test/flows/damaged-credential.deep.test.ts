import type { Actor, Message } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { diffPrices } from '../../src/money/prices.ts';
import {
  DOMAINS,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { countChargesFor, waitForOrder } from '../support/orders.ts';
import { expectFormClosed } from '../support/people.ts';
import { startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts';

/* Bob has a mandate and damaged credentials. Alice's mandate, digests, reports and webhooks continue. */

const DAY_MS = 86_400_000;
const REMINDER_CHANNEL = 'C0EXPIRY';
const NAMESERVERS = ['ns1.dns.example', 'ns2.dns.example'];

const receiver = await startReceiver();
afterAll(() => receiver.close());
const t = useTestDemo({
  linkedPeople: ['alice', 'bob'],
  settings: { WEBHOOK_URLS: receiver.url, WEBHOOK_SECRET, ADMINS: 'U0ADA' },
});

async function runSql(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  await client.query(text).finally(() => client.end());
}

async function addWatchedName(name: string, days: number): Promise<void> {
  const expires = new Date(t.service.clock.registryTime() + days * DAY_MS).setUTCHours(12, 0, 0, 0);
  t.service.state.addDomain({ name, context: 4, expires, nameServers: [...NAMESERVERS] });
  const { sandbox } = t.demo.dns;
  sandbox?.world.serve(name, NAMESERVERS, []);
  sandbox?.world.delegate(name, NAMESERVERS);
  await readCommandReply(t.workspace, t.alice, `/domain watch ${name}`);
}

/** Requests a mandate and has another person approve it. */
async function createMandate(person: Actor, approver: Actor, name: string, maxPrice: string): Promise<void> {
  const before = person.ephemerals().length;
  await person.command(DOMAINS, '/domain mandates');
  const list = await t.workspace.waitFor(() => person.ephemerals()[before], { what: 'the mandates' });
  const view = await performAndWaitForView(t.workspace, person, () => person.click(list, 'mandate_add'));
  const lastDay = new Date(t.service.clock.registryTime() + 300 * DAY_MS).toISOString().slice(0, 10);
  const order = await waitForOrder(
    t.workspace,
    async () =>
      expectFormClosed(
        await person.submit(view, {
          ...{ mandate_names: name, max_price: maxPrice, max_total: '54.00' },
          ...{ span: 'year', until: lastDay, notice: '10', account: 'mine' },
        }),
      ),
    DOMAINS,
  );
  await approver.click(order.card, 'order_approve');
  await order.waitForState('SUCCEEDED');
}

async function countFailures(job: string): Promise<number> {
  const text = await (await fetch(`${t.botUrl}/metrics`)).text();
  return Number(
    new RegExp(`^domain_steward_job_failures_total\\{name="${job}"\\} (\\d+)$`, 'm').exec(text)?.[1],
  );
}

test('a damaged credential stops only its own mandate', async () => {
  const renewalPrice = {
    zone: 'rest',
    task: 'renew',
    period: 1,
    validFrom: '2020-01-01',
    source: 'Contract 7',
  } as const;
  const amount = { currency: 'EUR', minor: 1_800 } as const;
  await t.demo.bot.prices.save(diffPrices([], [{ ...renewalPrice, amount }]), 'U0ADA', new Date());
  await addWatchedName('bobs.rest', 12);
  await addWatchedName('alices.rest', 12);
  await addWatchedName('watched.rest', 32);
  await createMandate(t.bob, t.carol, 'bobs.rest', '17.99');
  await createMandate(t.alice, t.bob, 'alices.rest', '18.00');
  await runSql(
    `UPDATE accounts SET sealed = set_byte(sealed, 20, 255 - get_byte(sealed, 20)) WHERE user_id = 'U0BOB'`,
  );
  const before = receiver.received.length;
  await t.demo.moveTime(3 * DAY_MS);

  const findReminder = (text: string) => (): Message | undefined =>
    t.workspace.messages(REMINDER_CHANNEL).find((message) => textOf(message).includes(text));
  await t.workspace.waitFor(findReminder('*watched.rest*'), { what: 'the digest' });
  await t.workspace.waitFor(findReminder('Mandates will renew'), { what: 'the notice of Alice’s mandate' });
  await until('a webhook about Bob’s mandate', () =>
    receiver.received.slice(before).some(({ body }) => body.type === 'mandate.held'),
  );
  expect(await countFailures('mandates')).toBeGreaterThan(0);

  await t.demo.moveTime(DAY_MS + DAY_MS / 2);
  await t.demo.moveTime(DAY_MS / 24);
  await until('Alice’s name is renewed', () => countChargesFor(t.service, 'alices.rest') === 1);
  const now = new Date(Date.now() + 4.6 * DAY_MS);
  const thirdOfNextMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 3, 12);
  await t.demo.moveTime(thirdOfNextMonth - now.getTime());
  await t.workspace.waitFor(findReminder('*Spent*'), { what: 'the monthly report' });
  await until('the monthly test webhook', () =>
    receiver.received.slice(before).some(({ body }) => body.type === 'test'),
  );
  const { details } = (await (await fetch(`${t.botUrl}/readyz`)).json()) as { details?: { jobs?: string } };
  expect(details?.jobs).toContain('mandates failed');
}, 120_000);
