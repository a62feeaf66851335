import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import { beforeAll, expect, test } from 'vitest';
import { performAndReadReply, readCommandReply, useTestDemo } from '../support/demo.ts';
import { forgeClick, linkApplication, waitForEphemeral } from '../support/people.ts';

/* The user data from the login response that `/domain whoami` shows. */

const t = useTestDemo();

beforeAll(() => linkApplication(t.workspace, t.ada));

test('whoami shows the service’s data, without secrets, and when it was last checked', async () => {
  const text = await readCommandReply(t.workspace, t.alice, '/domain whoami');
  expect(text).toMatch(/alice in context 4.*last checked/);
  expect(text).toMatch(
    /The service says: email \S+@\S+, status 1, substatus 0, owner alice in context 4, language en/,
  );
  expect(text).not.toContain(SANDBOX_ACCOUNTS.alice.password);
  expect(await readCommandReply(t.workspace, t.ada, '/domain whoami')).toContain(
    'doesn’t provide more details about this account',
  );
});

test('rights, profile and customer are loaded on demand, shown to their owner and not stored', async () => {
  const whoami = await waitForEphemeral(t.workspace, t.alice, 'whoami', ({ text }) =>
    text.includes('alice in context 4'),
  );
  const details = await performAndReadReply(t.workspace, t.alice, () =>
    t.alice.click(whoami, 'whoami_details'),
  );
  expect(details).toMatch(/Acls (?:1 )?task: domain/i);
  expect(details).toContain('Profile timezone: UTC');
  expect(details).toContain('Customer name: Team Example');
  expect(t.service.requestsFor({ task: 'session.create' }).at(-1)?.query).toEqual({
    acl: ['true'],
    profile: ['true'],
    customer: ['true'],
    ctid: [expect.any(String)],
  });
  expect(t.service.sessions.countActive(), 'open sessions').toBe(0);
  expect(await t.dump()).not.toContain('Team Example');

  const before = t.service.requests.length;
  const buttonValue = JSON.stringify(whoami.blocks).match(/"value":"([^"]+)"/)?.[1] ?? '';
  const replyToBob = await performAndReadReply(t.workspace, t.bob, () =>
    forgeClick(t.workspace, 'U0BOB', 'whoami_details', buttonValue),
  );
  expect(replyToBob).toContain('no longer linked');
  expect(t.service.requests).toHaveLength(before);
});
