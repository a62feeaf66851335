import { createDefaultSeed, type Seed } from '@domain-steward/slack-workspace';
import { describe, expect, test } from 'vitest';
import { DOMAINS, link, performAndReadReply, textOf, useTestDemo } from '../support/demo.ts';
import { requestByCommand, requestsOf } from '../support/orders.ts';

/* A workspace in an Enterprise Grid organization, with members of its other workspaces allowed. */

type Person = Seed['users'][number];

const ORGANIZATION_ID = 'E0STEWARD';
const { users, channels } = createDefaultSeed();
const [alice] = users;
if (alice === undefined) throw new Error('the seed has no users');
const createPerson = (id: string, name: string, overrides: Partial<Person>): Person => ({
  ...alice,
  id,
  name: name.toLowerCase(),
  real_name: name,
  ...overrides,
});

const PEOPLE = [
  ...users.map((user) =>
    user.is_stranger ? { ...user, is_stranger: false, enterprise_id: 'E0ELSEWHERE' } : user,
  ),
  // From a sibling workspace: an admin and a guest.
  createPerson('W0ERIN', 'Erin', { team_id: 'T0SIBLING', enterprise_id: ORGANIZATION_ID, is_admin: true }),
  createPerson('W0FAY', 'Fay', { team_id: 'T0SIBLING', enterprise_id: ORGANIZATION_ID, is_restricted: true }),
];

const t = useTestDemo({
  seed: {
    enterpriseId: ORGANIZATION_ID,
    users: PEOPLE,
    channels: channels.map((channel) =>
      channel.id === DOMAINS ? { ...channel, members: [...channel.members, 'W0ERIN', 'W0FAY'] } : channel,
    ),
  },
  settings: { ALLOW_ORG_MEMBERS: 'true', APPROVERS: 'U0BOB,W0ERIN' },
});

const send = (userId: string, line: string) => {
  const person = t.workspace.as(userId);
  return performAndReadReply(t.workspace, person, () => person.command(DOMAINS, line));
};

describe('a member of a sibling workspace', () => {
  test('requests orders with their own account and approves others’ orders', async () => {
    const erin = t.workspace.as('W0ERIN');
    await link(t.workspace, erin);
    const erinsOrder = await requestByCommand(t.workspace, erin, '/domain renew bar.rest');
    await t.bob.click(erinsOrder.card, 'order_approve');
    await erinsOrder.waitForResult('SUCCEEDED');

    const alicesOrder = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
    await erin.click(alicesOrder.card, 'order_approve');
    expect(textOf(await alicesOrder.waitForResult('SUCCEEDED'))).toContain('cafe.rest');
    expect(requestsOf(t.service, alicesOrder), 'requests to the service').toHaveLength(1);
  });

  test('isn’t an admin here, even if they are an admin there', async () => {
    expect(await send('W0ERIN', '/domain settings')).toContain('Only admins can do this');
  });
});

describe('a refusal to use the bot', () => {
  test.each([
    ['a guest of a sibling workspace', 'W0FAY'],
    ['a person from another organization', 'U0DAVE'],
  ])('is the reply to %s', async (_who, id) => {
    const reply = await send(id, '/domain link');
    expect(reply).toContain('Only full members of this organization');
  });
});
