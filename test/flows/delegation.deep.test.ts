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

const NAME = 'cut.rest';
const HEALTHY = 'whole.rest';
const HOSTS = ['ns1.host.example', 'ns2.host.example'];
const DAY_MS = 86_400_000;

beforeAll(async () => {
  const expires = t.service.clock.registry() + 300 * DAY_MS;
  for (const name of [NAME, HEALTHY]) {
    t.service.state.addDomain({ name, context: 4, expires, nameServers: HOSTS });
    await setUpStory({ service: t.service, dns: dns(), name });
    await readCommandReply(t.workspace, t.alice, `/domain watch ${name}`);
  }
  await advanceUntil(
    'a lookup of both',
    async () => !(await showName(HEALTHY)).includes('couldn’t be checked completely'),
  );
}, 60_000);

function dns() {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  return sandbox;
}
const showName = (name: string) => readCommandReply(t.workspace, t.alice, `/domain name ${name}`);
const listLameNames = () => readCommandReply(t.workspace, t.alice, '/domain names lame');
const digests = (): string[] => t.workspace.messages('C0EXPIRY').map((message: Message) => textOf(message));
const faultDigests = () => digests().filter((text) => text.includes('with a new delegation problem'));
const incidents = () =>
  receiver.received.map(({ body }) => body).filter(({ type }) => type.startsWith('incident.'));

/** Advances by days, with the daily lookups, until a condition holds. */
async function advanceUntil(
  what: string,
  holds: () => boolean | Promise<boolean>,
  stepMs = DAY_MS,
): Promise<void> {
  await until(
    what,
    async () => {
      await t.demo.bot.catchUp();
      if (await holds()) return true;
      await t.demo.moveTime(stepMs);
      return holds();
    },
    25_000,
  );
}

test('the lame filter lists only the name with a lame server', async () => {
  expect(await listLameNames()).toMatch(/No name/i);
  dns().world.drop(NAME, HOSTS.slice(1));
  await advanceUntil('the name on the list', async () => (await listLameNames()).includes(NAME));
  expect(await listLameNames()).not.toContain(HEALTHY);
  expect(await showName(NAME)).toMatch(
    /:warning: \*A nameserver doesn’t answer for it\*: .*ns2\.host\.example/,
  );
});

test('a new lame server is in one digest', async () => {
  await advanceUntil('the digest with the fault', () => faultDigests().length > 0);
  expect(faultDigests()).toHaveLength(1);
  expect(faultDigests()[0]).toMatch(
    /1 name with a new delegation problem.*cut\.rest · :warning: a nameserver doesn’t answer for it/s,
  );
  const before = digests().length;
  for (let days = 0; days < 3; days += 1) await t.demo.moveTime(DAY_MS);
  expect(faultDigests(), `${digests().length - before} messages later`).toHaveLength(1);
});

test('an incident of a name whose servers are all lame sends a webhook for each change', async () => {
  dns().world.drop(NAME, HOSTS);
  await advanceUntil('a webhook for the incident', () => incidents().length > 0);
  const opened = incidents()[0];
  expect(opened).toMatchObject({
    type: 'incident.opened',
    data: {
      name: NAME,
      code: 'all_lame',
      incident_id: expect.any(String),
      text: expect.stringContaining(NAME),
    },
  });
  t.service.registry.show(NAME, { statuses: ['active', 'client hold'] });
  await advanceUntil('a webhook for a new change', () => incidents().length > 1, DAY_MS / 6);
  const incident_id = opened !== undefined && 'incident_id' in opened.data ? opened.data.incident_id : '';
  expect(incidents()[1]).toMatchObject({ type: 'incident.changed', data: { incident_id } });
  dns().world.serve(NAME, HOSTS, ['@ A 198.51.100.7']);
  await setUpStory({ service: t.service, dns: dns(), name: NAME });
  await advanceUntil('a webhook for its end', () => incidents().at(-1)?.type === 'incident.closed');
  expect(incidents().at(-1)?.data).toMatchObject({ incident_id, code: 'over', name: NAME });
  expect(new Set(receiver.received.map(({ id }) => id)).size, 'unique ids').toBe(receiver.received.length);
  expect(await listLameNames()).not.toContain(NAME);
});
