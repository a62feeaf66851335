import { defaultSeed, type Seed } from '@domain-steward/slack-workspace';
import { describe, expect, test } from 'vitest';
import { DOMAINS, link, textOf, toldAfter, useTestDemo } from '../support/demo.ts';
import { ask, requestsOf } from '../support/orders.ts';

/* A workspace of an Enterprise Grid organization whose other workspaces are allowed. */

type Person = Seed['users'][number];

const ORGANISATION = 'E0STEWARD';
const { users, channels } = defaultSeed();
const [alice] = users;
if (alice === undefined) throw new Error('the seed has nobody');
const from = (id: string, name: string, more: Partial<Person>): Person => ({
  ...alice,
  id,
  name: name.toLowerCase(),
  real_name: name,
  ...more,
});

const PEOPLE = [
  ...users.map((user) =>
    user.is_stranger ? { ...user, is_stranger: false, enterprise_id: 'E0ELSEWHERE' } : user,
  ),
  // From a sibling workspace: a member who administers it, and a guest.
  from('W0ERIN', 'Erin', { team_id: 'T0SIBLING', enterprise_id: ORGANISATION, is_admin: true }),
  from('W0FAY', 'Fay', { team_id: 'T0SIBLING', enterprise_id: ORGANISATION, is_restricted: true }),
];

const t = useTestDemo({
  seed: {
    enterpriseId: ORGANISATION,
    users: PEOPLE,
    channels: channels.map((channel) =>
      channel.id === DOMAINS ? { ...channel, members: [...channel.members, 'W0ERIN', 'W0FAY'] } : channel,
    ),
  },
  settings: { ALLOW_ORG_MEMBERS: 'true', APPROVERS: 'U0BOB,W0ERIN' },
});

const said = (userId: string, line: string) => {
  const person = t.workspace.as(userId);
  return toldAfter(t.workspace, person, () => person.command(DOMAINS, line));
};

describe('a member of a sibling workspace', () => {
  test('makes requests with their own account, and approves others’ requests', async () => {
    const erin = t.workspace.as('W0ERIN');
    await link(t.workspace, erin);
    const theirs = await ask(t.workspace, erin, '/domain renew bar.rest');
    await t.bob.click(theirs.card, 'order_approve');
    await theirs.ends('SUCCEEDED');

    const ours = await ask(t.workspace, t.alice, '/domain renew cafe.rest');
    await erin.click(ours.card, 'order_approve');
    expect(textOf(await ours.ends('SUCCEEDED'))).toContain('cafe.rest');
    expect(requestsOf(t.service, ours), 'requests to the service').toHaveLength(1);
  });

  test('its admins have no rights in this one', async () => {
    expect(await said('W0ERIN', '/domain settings')).toContain('Only admins can do this');
  });
});

describe('nobody else', () => {
  test.each([
    ['a guest of a sibling workspace', 'W0FAY'],
    ['a person from another organization', 'U0DAVE'],
  ])('%s', async (_who, id) => {
    const told = await said(id, '/domain link');
    expect(told).toContain('Only full members of this organization');
  });
});
