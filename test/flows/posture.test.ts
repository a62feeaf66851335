import { setUpStory } from '@domain-steward/sandbox-service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { expectFormClosed } from '../support/people.ts';
import { startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts';

/*
 * Where the findings of two names are shown. The bot finds no danger for one; the other lacks a transfer
 * lock.
 */

const receiver = await startReceiver();
afterAll(() => receiver.close());
const t = useTestDemo({ settings: { WEBHOOK_URLS: receiver.url, WEBHOOK_SECRET } });

const SOUND_NAME = 'sound.rest';
const UNLOCKED_NAME = 'open.rest';
const DAY_MS = 86_400_000;
const NAMESERVERS = ['ns1.host.example', 'ns2.host.example'];

const send = (line: string) => readCommandReply(t.workspace, t.alice, `/domain ${line}`);
const listFindingWebhooks = () =>
  receiver.received.map(({ body }) => body).filter(({ type }) => type.startsWith('finding.'));

beforeAll(async () => {
  const { sandbox: dns } = t.demo.dns;
  if (dns === undefined) throw new Error('the demo has no DNS');
  const expires = t.service.clock.registryTime() + 300 * DAY_MS;
  for (const name of [SOUND_NAME, UNLOCKED_NAME]) {
    t.service.state.addDomain({ name, context: 4, expires, nameServers: NAMESERVERS });
    await setUpStory({ service: t.service, dns, name });
    if (name === UNLOCKED_NAME) t.service.registry.show(name, { statuses: ['active'] });
    await send(`watch ${name}`);
  }
  await until('lookups of both names', async () => {
    await t.demo.bot.catchUp();
    if (!(await send('posture')).includes('not seen')) return true;
    await t.demo.moveTime(DAY_MS);
    return false;
  });
}, 40_000);

test('locks set by the registry are shown', async () => {
  const statuses = ['server transfer prohibited', 'server update prohibited', 'server delete prohibited'];
  t.service.registry.show('bar.rest', { statuses });
  expect(await send('name bar.rest')).toContain('*Registry lock* blocks transfers, changes and deletion\n');
});

test('/domain posture has a line for each name with a finding, with what to do', async () => {
  const text = await send('posture');
  expect(text).toContain('0 of 2 names are fine');
  expect(text).toMatch(/:warning: \*open\.rest\* · no transfer lock: turn it on.* · also no owner\n/);
  expect(text).toMatch(/:warning: \*sound\.rest\* · no owner: assign one/);
});

test('a name with an owner is fine, and its notes are shown only on request', async () => {
  await send(`name ${SOUND_NAME}`);
  const nameReply = t.alice.ephemerals().at(-1);
  if (nameReply === undefined) throw new Error('the name was not shown');
  expect(textOf(nameReply)).toContain(':warning: *No owner*');
  const form = await performAndWaitForView(t.workspace, t.alice, () => t.alice.click(nameReply, 'name_edit'));
  await performAndReadReply(t.workspace, t.alice, async () =>
    expectFormClosed(await t.alice.submit(form, { owner: 'U0ALICE' })),
  );
  const text = await send('posture');
  expect(text).toContain('1 of 2 names is fine');
  expect(text).not.toContain(SOUND_NAME);
  expect(await send('posture all sound')).toMatch(
    /1 of 1 name .*is fine.*• \*sound\.rest\* · DNSSEC is off/s,
  );
});

test('filters find the names with a finding', async () => {
  expect(await send('names unlocked')).toMatch(/1 name matching `unlocked`.*open\.rest/s);
  expect(await send('names finding:no_owner zone:rest')).toContain('1 name');
  expect(await send('names finding:lamer')).toContain('Did you mean `finding:lame`');
});

test('webhooks report when a serious finding is opened and closed', async () => {
  const now = t.service.clock.registryTime();
  const waitForWebhook = async (type: string) =>
    until(`a webhook ${type}`, async () => {
      await t.demo.moveTime(DAY_MS);
      await t.demo.bot.catchUp();
      return listFindingWebhooks().some((body) => body.type === type);
    });
  t.service.registry.show(UNLOCKED_NAME, { expires: now - DAY_MS });
  await waitForWebhook('finding.opened');
  expect(await send('posture')).toMatch(/1 at risk.*\n:x: \*open\.rest\* · expired or deleted/);
  t.service.registry.show(UNLOCKED_NAME, { expires: now + 300 * DAY_MS });
  await waitForWebhook('finding.closed');
  expect(listFindingWebhooks()).toMatchObject([
    {
      type: 'finding.opened',
      data: { name: UNLOCKED_NAME, code: 'expired', text: expect.stringContaining(UNLOCKED_NAME) },
    },
    { type: 'finding.closed', data: { name: UNLOCKED_NAME, code: 'expired' } },
  ]);
});
