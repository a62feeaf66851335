import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DOMAINS, openForm, textOf, until } from '../support/demo.ts';
import { orderOf } from '../support/orders.ts';
import { Replicas } from '../support/replicas.ts';
import { seeded } from '../support/seeded.ts';

/*
 * Several bots share one database, and each of many clicks may reach another bot. Larger version:
 * `npm run test:torture`.
 */

const MAX_WAIT_MS = 120_000;
const ORDERS = 8;
const CLICKS = 10;
const SEED = 7;
const EXPIRY = 'C0EXPIRY';

let replicas: Replicas;
afterAll(() => replicas.close());

/** Clicks many times on each of several orders, and expects one request per order. */
async function expectSentOnce(label: string): Promise<void> {
  const { site } = replicas;
  const before = site.requests().length;
  const names = await replicas.requestRenewals(ORDERS, label);
  await Promise.all(names.map((name) => replicas.press(name, CLICKS)));
  const settled = await Promise.all(names.map((name) => site.waitUntilSettled(name, label)));
  expect(settled.map(({ state }) => state)).toEqual(names.map(() => 'SUCCEEDED'));
  expect(site.requests(), 'requests').toHaveLength(before + ORDERS);
}

describe('several bots over HTTP', () => {
  beforeAll(async () => {
    replicas = await Replicas.start(3, {
      settings: { ADMINS: 'U0ADA', REMINDER_CHANNEL: EXPIRY, APPROVAL_TTL: '30d' },
    });
  }, MAX_WAIT_MS);

  test('send every order once', () => expectSentOnce('pressed'), MAX_WAIT_MS);

  test(
    'all apply settings saved by one of them, and send one digest and one reminder',
    async () => {
      const { site } = replicas;
      const { workspace } = site.s;
      const ada = workspace.as('U0ADA');
      const inChannel = (channel: string) =>
        workspace.messages(channel).filter((message) => textOf(message).includes('soon.rest'));
      const set = async (values: Readonly<Record<string, string>>) => {
        const form = await openForm(workspace, ada, '/domain settings');
        expect(await ada.submit(form, values)).toMatchObject({ outcome: 'closed' });
      };
      const expires = new Date(Date.now() + 30 * 86_400_000).setUTCHours(12, 0, 0, 0);
      site.s.service.state.addDomain({ name: 'soon.rest', context: 4, expires });
      await site.alice.command(DOMAINS, '/domain watch soon.rest');
      const [waiting = ''] = await replicas.requestRenewals(1, 'waiting');
      const nudges = () =>
        workspace
          .messages(DOMAINS)
          .filter((message) => orderOf(message)?.names === waiting && /waiting for/.test(textOf(message)))
          // A day later the order is escalated, too.
          .filter((message) => !/I messaged|I’ll message|No admin could be reached/.test(textOf(message)));
      const before = nudges().length;

      // No reminder is due before the next leap day.
      await set({ reminder_cron: '0 0 29 2 *' });
      await replicas.nextDay();
      expect([...inChannel(EXPIRY), ...inChannel(DOMAINS)]).toEqual([]);
      await until('a reminder to the approvers', () => nudges().length > before);

      await set({ reminder_cron: '0 9 * * *', reminder_channel: DOMAINS });
      await replicas.nextDay();
      await until('the digest', () => inChannel(DOMAINS).length > 0);
      await replicas.nextDay();
      expect(inChannel(DOMAINS), 'digests in the new channel').toHaveLength(1);
      expect(inChannel(EXPIRY), 'digests in the earlier channel').toEqual([]);
      expect(nudges(), 'nudges').toHaveLength(before + 1);
    },
    MAX_WAIT_MS,
  );

  test(
    'continue when some are killed repeatedly',
    async () => {
      const { site } = replicas;
      const names = Array.from({ length: ORDERS }, (_, n) => site.names(`killed-${n}`));
      await replicas.killBotsDuring(seeded(SEED), () =>
        Promise.all(
          names.map((name) => site.waitUntilSettled(name, 'killed all the while', { clicks: CLICKS })),
        ),
      );
    },
    MAX_WAIT_MS,
  );
});

describe('several bots over Socket Mode', () => {
  beforeAll(async () => {
    await replicas.close();
    replicas = await Replicas.start(2, { socketMode: true });
  }, MAX_WAIT_MS);

  test(
    'send every order once, and each handles some clicks',
    async () => {
      await expectSentOnce('pressed');
      for (const metrics of await replicas.metrics())
        expect(metrics).toMatch(/^domain_steward_ack_seconds_count\{kind="block_actions"\} [1-9]/m);
    },
    MAX_WAIT_MS,
  );
});
