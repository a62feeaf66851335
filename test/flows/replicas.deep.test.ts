import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DOMAINS, openForm, textOf, until } from '../support/demo.ts';
import { orderOf } from '../support/orders.ts';
import { Replicas } from '../support/replicas.ts';
import { seededRandom } from '../support/seeded.ts';

/*
 * Several bots share one database, and any bot may get each of many clicks. `npm run test:torture` runs a
 * larger version.
 */

const MAX_WAIT_MS = 120_000;
const ORDER_COUNT = 8;
const CLICKS_PER_ORDER = 10;
const SEED = 7;
const EXPIRY_CHANNEL = 'C0EXPIRY';

let replicas: Replicas;
afterAll(() => replicas.close());

/** Approves each of several orders with many clicks, and expects one request per order. */
async function expectSentOnce(label: string): Promise<void> {
  const { site } = replicas;
  const before = site.listRenewalRequests().length;
  const names = await replicas.requestRenewals(ORDER_COUNT, label);
  await Promise.all(names.map((name) => replicas.clickApprove(name, CLICKS_PER_ORDER)));
  const settled = await Promise.all(names.map((name) => site.waitUntilSettled(name, label)));
  expect(settled.map(({ state }) => state)).toEqual(names.map(() => 'SUCCEEDED'));
  expect(site.listRenewalRequests(), 'requests').toHaveLength(before + ORDER_COUNT);
}

describe('several bots over HTTP', () => {
  beforeAll(async () => {
    replicas = await Replicas.start(3, {
      settings: { ADMINS: 'U0ADA', REMINDER_CHANNEL: EXPIRY_CHANNEL, APPROVAL_TTL: '30d' },
    });
  }, MAX_WAIT_MS);

  test('send every order once', () => expectSentOnce('pressed'), MAX_WAIT_MS);

  test(
    'apply settings saved by any of them, and send one digest and one reminder',
    async () => {
      const { site } = replicas;
      const { workspace } = site.environment;
      const ada = workspace.as('U0ADA');
      const listDigestsIn = (channel: string) =>
        workspace.messages(channel).filter((message) => textOf(message).includes('soon.rest'));
      const saveSettings = async (values: Readonly<Record<string, string>>) => {
        const form = await openForm(workspace, ada, '/domain settings');
        expect(await ada.submit(form, values)).toMatchObject({ outcome: 'closed' });
      };
      const expires = new Date(Date.now() + 30 * 86_400_000).setUTCHours(12, 0, 0, 0);
      site.environment.service.state.addDomain({ name: 'soon.rest', context: 4, expires });
      await site.alice.command(DOMAINS, '/domain watch soon.rest');
      const [pendingName = ''] = await replicas.requestRenewals(1, 'waiting');
      const listReminders = () =>
        workspace
          .messages(DOMAINS)
          .filter((message) => orderOf(message)?.names === pendingName && /waiting for/.test(textOf(message)))
          // Skip the escalation, which follows a day later.
          .filter((message) => !/I messaged|I’ll message|No admin could be reached/.test(textOf(message)));
      const before = listReminders().length;

      // No reminder is due before the next leap day.
      await saveSettings({ reminder_cron: '0 0 29 2 *' });
      await replicas.nextDay();
      expect([...listDigestsIn(EXPIRY_CHANNEL), ...listDigestsIn(DOMAINS)]).toEqual([]);
      await until('a reminder to the approvers', () => listReminders().length > before);

      await saveSettings({ reminder_cron: '0 9 * * *', reminder_channel: DOMAINS });
      await replicas.nextDay();
      await until('the digest', () => listDigestsIn(DOMAINS).length > 0);
      await replicas.nextDay();
      expect(listDigestsIn(DOMAINS), 'digests in the new channel').toHaveLength(1);
      expect(listDigestsIn(EXPIRY_CHANNEL), 'digests in the earlier channel').toEqual([]);
      expect(listReminders(), 'reminders to the approvers').toHaveLength(before + 1);
    },
    MAX_WAIT_MS,
  );

  test(
    'complete every order even if some of them are killed repeatedly',
    async () => {
      const { site } = replicas;
      const names = Array.from({ length: ORDER_COUNT }, (_, n) => site.addNames(`killed-${n}`));
      await replicas.killBotsDuring(seededRandom(SEED), () =>
        Promise.all(
          names.map((name) =>
            site.waitUntilSettled(name, 'killed all the while', { clicks: CLICKS_PER_ORDER }),
          ),
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
      for (const metrics of await replicas.fetchMetrics())
        expect(metrics).toMatch(/^domain_steward_ack_seconds_count\{kind="block_actions"\} [1-9]/m);
    },
    MAX_WAIT_MS,
  );
});
