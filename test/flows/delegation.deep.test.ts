import { setUpStory } from '@domain-steward/sandbox-service';
import type { Message } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCommandReply, textOf, until, useTestDemo } from '../support/demo.ts';
import { startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts';

/*
 * A delegation fault is shown in the list, in the digest, and in webhooks once it is an incident. One name loses its
 * servers one by one; the tests share one clock.
 */

const receiver = await startReceiver();
afterAll(() => receiver.close());
const t = useTestDemo({ settings: { WEBHOOK_URLS: receiver.url, WEBHOOK_SECRET } });

const LAME_NAME = 'cut.rest';
const HEALTHY_NAME = 'whole.rest';
const NAMESERVERS = ['ns1.host.example', 'ns2.host.example'];
const DAY_MS = 86_400_000;

beforeAll(async () => {
  const expires = t.service.clock.registryTime() + 300 * DAY_MS;
  for (const name of [LAME_NAME, HEALTHY_NAME]) {
    t.service.state.addDomain({ name, context: 4, expires, nameServers: NAMESERVERS });
    await setUpStory({ service: t.service, dns: getDns(), name });
    await readCommandReply(t.workspace, t.alice, `/domain watch ${name}`);
  }
  await advanceUntil(
    'a complete lookup of both names',
    async () => !(await showName(HEALTHY_NAME)).includes('couldn’t be checked completely'),
  );
}, 60_000);

function getDns() {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  return sandbox;
}
const showName = (name: string) => readCommandReply(t.workspace, t.alice, `/domain name ${name}`);
const listLameNames = () => readCommandReply(t.workspace, t.alice, '/domain names lame');
const listDigests = (): string[] =>
  t.workspace.messages('C0EXPIRY').map((message: Message) => textOf(message));
const listFaultDigests = () => listDigests().filter((text) => text.includes('with a new delegation problem'));
const listIncidentWebhooks = () =>
  receiver.received.map(({ body }) => body).filter(({ type }) => type.startsWith('incident.'));

/** Advances in steps, by default of a day, until a condition holds. */
async function advanceUntil(
  what: string,
  isMet: () => boolean | Promise<boolean>,
  stepMs = DAY_MS,
): Promise<void> {
  await until(
    what,
    async () => {
      await t.demo.bot.catchUp();
      if (await isMet()) return true;
      await t.demo.moveTime(stepMs);
      return isMet();
    },
    25_000,
  );
}

test('the lame filter lists only the name with a lame server', async () => {
  expect(await listLameNames()).toMatch(/No name/i);
  getDns().world.drop(LAME_NAME, NAMESERVERS.slice(1));
  await advanceUntil('the name on the list', async () => (await listLameNames()).includes(LAME_NAME));
  expect(await listLameNames()).not.toContain(HEALTHY_NAME);
  expect(await showName(LAME_NAME)).toMatch(
    /:warning: \*A nameserver doesn’t answer for it\*: .*ns2\.host\.example/,
  );
});

test('a new lame server is reported in one digest', async () => {
  await advanceUntil('the digest with the fault', () => listFaultDigests().length > 0);
  expect(listFaultDigests()).toHaveLength(1);
  expect(listFaultDigests()[0]).toMatch(
    /1 name with a new delegation problem.*cut\.rest · :warning: a nameserver doesn’t answer for it/s,
  );
  const before = listDigests().length;
  for (let days = 0; days < 3; days += 1) await t.demo.moveTime(DAY_MS);
  expect(listFaultDigests(), `${listDigests().length - before} messages later`).toHaveLength(1);
});

test('an incident of a name whose servers are all lame sends a webhook for each change', async () => {
  getDns().world.drop(LAME_NAME, NAMESERVERS);
  await advanceUntil('a webhook for the incident', () => listIncidentWebhooks().length > 0);
  const opened = listIncidentWebhooks()[0];
  expect(opened).toMatchObject({
    type: 'incident.opened',
    data: {
      name: LAME_NAME,
      code: 'all_lame',
      incident_id: expect.any(String),
      text: expect.stringContaining(LAME_NAME),
    },
  });
  t.service.registry.show(LAME_NAME, { statuses: ['active', 'client hold'] });
  await advanceUntil('a webhook for a new change', () => listIncidentWebhooks().length > 1, DAY_MS / 6);
  const incident_id = opened !== undefined && 'incident_id' in opened.data ? opened.data.incident_id : '';
  expect(listIncidentWebhooks()[1]).toMatchObject({ type: 'incident.changed', data: { incident_id } });
  getDns().world.serve(LAME_NAME, NAMESERVERS, ['@ A 198.51.100.7']);
  await setUpStory({ service: t.service, dns: getDns(), name: LAME_NAME });
  await advanceUntil(
    'a webhook for the closing',
    () => listIncidentWebhooks().at(-1)?.type === 'incident.closed',
  );
  expect(listIncidentWebhooks().at(-1)?.data).toMatchObject({ incident_id, code: 'over', name: LAME_NAME });
  expect(new Set(receiver.received.map(({ id }) => id)).size, 'unique ids').toBe(receiver.received.length);
  expect(await listLameNames()).not.toContain(LAME_NAME);
});
