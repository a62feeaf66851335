import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DOMAINS, openForm, textOf, until } from '../support/demo.ts';
import { orderOf } from '../support/orders.ts';
import { Replicas } from '../support/replicas.ts';
import { seeded } from '../support/seeded.ts';

/*
 * Several bots on one database, and people who click again and again: each delivery may reach another bot. With more of
 * everything: `npm run test:torture`.
 */

const MAX_WAIT_MS = 120_000;
const ORDERS = 8;
const CLICKS = 10;
const SEED = 7;
const EXPIRY = 'C0EXPIRY';

let replicas: Replicas;
afterAll(() => replicas.close());

/** Every order is sent once, for any number of clicks on any bot. */
async function pressed(label: string): Promise<void> {
  const { site } = replicas;
  const before = site.requests().length;
  const names = await replicas.asked(ORDERS, label);
  await Promise.all(names.map((name) => replicas.press(name, CLICKS)));
  const settled = await Promise.all(names.map((name) => site.settles(name, label)));
  expect(settled.map(({ state }) => state)).toEqual(names.map(() => 'SUCCEEDED'));
  expect(site.requests(), 'requests').toHaveLength(before + ORDERS);
}

describe('HTTP, behind a load balancer', () => {
  beforeAll(async () => {
    replicas = await Replicas.start(3, {
      settings: { ADMINS: 'U0ADA', REMINDER_CHANNEL: EXPIRY, APPROVAL_TTL: '30d' },
    });
  }, MAX_WAIT_MS);

  test('every order is sent once', () => pressed('pressed'), MAX_WAIT_MS);

  test(
    'one bot’s settings apply to all; one digest, and one reminder, by the first bot',
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
      const [waiting = ''] = await replicas.asked(1, 'waiting');
      const nudges = () =>
        workspace
          .messages(DOMAINS)
          .filter((message) => orderOf(message)?.names === waiting && /waiting for/.test(textOf(message)))
          // A day later the order is escalated, too.
          .filter(
            (message) =>
              !/I messaged|will get a message later|No admin could be reached/.test(textOf(message)),
          );
      const told = nudges().length;

      // There is no reminder before the next leap day.
      await set({ reminder_cron: '0 0 29 2 *' });
      await replicas.nextDay();
      expect([...inChannel(EXPIRY), ...inChannel(DOMAINS)]).toEqual([]);
      await until('approvers are nudged', () => nudges().length > told);

      await set({ reminder_cron: '0 9 * * *', reminder_channel: DOMAINS });
      await replicas.nextDay();
      await until('there is a digest', () => inChannel(DOMAINS).length > 0);
      await replicas.nextDay();
      expect(inChannel(DOMAINS), 'digests in the channel that was set').toHaveLength(1);
      expect(inChannel(EXPIRY), 'digests in the channel of before').toEqual([]);
      expect(nudges(), 'nudges').toHaveLength(told + 1);
    },
    MAX_WAIT_MS,
  );

  test(
    'bots that are killed repeatedly: others continue',
    async () => {
      const { site } = replicas;
      const names = Array.from({ length: ORDERS }, (_, n) => site.names(`killed-${n}`));
      await replicas.whileKilled(seeded(SEED), () =>
        Promise.all(names.map((name) => site.settles(name, 'killed all the while', { clicks: CLICKS }))),
      );
    },
    MAX_WAIT_MS,
  );
});

describe('Socket Mode', () => {
  beforeAll(async () => {
    await replicas.close();
    replicas = await Replicas.start(2, { socketMode: true });
  }, MAX_WAIT_MS);

  test(
    'every order is sent once, and each bot sends some',
    async () => {
      await pressed('pressed');
      for (const metrics of await replicas.metrics())
        expect(metrics).toMatch(/^domain_steward_ack_seconds_count\{kind="block_actions"\} [1-9]/m);
    },
    MAX_WAIT_MS,
  );
});
