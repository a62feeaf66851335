import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Secret } from '../../src/service/secret.ts';
import { createDigestPoster } from '../../src/slack/digest-messages.ts';
import { createDirectory } from '../../src/slack/directory.ts';
import { createSlackWeb } from '../../src/slack/platform/web.ts';
import { textOf } from '../support/demo.ts';

/*
 * What admins hear when reminders cannot be posted: the cause that Slack names, and what mends that one.
 */

let workspace: Workspace;
beforeAll(async () => {
  workspace = await startWorkspace();
});
beforeEach(() => workspace.faults.clear());
afterAll(() => workspace.close());

const HEAD = {
  digestId: 'D1',
  destination: '',
  groups: [],
  total: 0,
  more: false,
  months: [],
  undated: 0,
  disputed: [],
  all: [],
};

test('an owner who has left is not told, so that the common channel is', async () => {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const directory = createDirectory(web, workspace.teamId);
  const poster = createDigestPoster({ web, directory, admins: ['U0ADA'] });
  expect(await poster.postHead('U0CAROL', HEAD)).toMatchObject({ channelId: 'D0CAROL' });
  await workspace.changePerson('U0CAROL', { deleted: true });
  directory.forgetPerson('U0CAROL');
  const error = await poster.postHead('U0CAROL', HEAD).catch((reason: unknown) => reason);
  expect(poster.explain(error)).toEqual({ broken: expect.stringContaining('no member') });
  expect(workspace.messages('D0CAROL')).toHaveLength(1);
});

test.each([
  ['not_in_channel', 'I am not in this channel. Invite me with /invite @Domain Steward.', true],
  ['is_archived', 'the channel is archived. Choose another one.', false],
  ['restricted_action', 'only some people may. Have an admin of the workspace let me', false],
  ['missing_scope', 'My app lacks a right that this needs. Whoever runs me installs the app again', false],
  ['token_revoked', 'Slack no longer takes my token (token_revoked). Tell whoever runs me.', false],
])('%s', async (code, words, isInvited) => {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const directory = createDirectory(web, workspace.teamId);
  const poster = createDigestPoster({ web, directory, admins: ['U0ADA'] });
  workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code, times: 1 });
  const error = await poster.postHead('C0DOMAINS', HEAD).catch((reason: unknown) => reason);
  const what = poster.explain(error);
  if (!('broken' in what)) throw new Error('it is not taken for broken');
  await poster.alertAdmins('C0DOMAINS', what.broken);
  const [message] = workspace.messages('D0ADA').slice(-1);
  if (message === undefined) throw new Error('no admin was told');
  const said = textOf(message);
  expect(said).toContain(words);
  expect(said).toContain('/domain settings');
  expect(said.includes('/invite')).toBe(isInvited);
});
