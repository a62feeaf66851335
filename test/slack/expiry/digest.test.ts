import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Secret } from '../../../src/service/secret.ts';
import { createDirectory } from '../../../src/slack/outbound/directory.ts';
import { createSlackWeb } from '../../../src/slack/outbound/web.ts';
import { Rig } from '../../expiry/rig.ts';
import { textOf } from '../../support/demo.ts';

/*
 * Digests in a workspace: messages to people who have left, and notices to admins about channels that refuse
 * reminders, with Slack's reason and its fix.
 */

let workspace: Workspace;
let rig: Rig;
beforeAll(async () => {
  workspace = await startWorkspace();
  rig = await Rig.startOnSchedule();
});
afterAll(async () => {
  await rig.stop();
  await workspace.close();
});

/** Advances to a morning on which a name has seven days left. @returns a bot that posts in the workspace */
async function startMorning(name: string, owner?: string) {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const directory = createDirectory(web, workspace.teamId);
  rig.settings = { ...rig.settings, reminderChannel: 'C0DOMAINS' };
  await rig.watch(name, 8);
  if (owner !== undefined) await rig.changeDetails(name, { owner });
  rig.advanceToNextMorning();
  return rig.createReplica({ web, directory, adminsToNotify: async () => ['U0ADA'] });
}

test('the digest of an owner who has left goes to the reminder channel', async () => {
  const countMessages = () => [workspace.messages('D0CAROL').length, workspace.messages('C0DOMAINS').length];
  expect(await rig.runDigest(await startMorning('first.rest', 'U0CAROL'))).toBe('posted');
  expect(countMessages()).toEqual([1, 0]);
  await workspace.changePerson('U0CAROL', { deleted: true });
  expect(await rig.runDigest(await startMorning('second.rest', 'U0CAROL'))).toBe('posted');
  expect(countMessages()).toEqual([1, 1]);
});

test.each([
  ['not_in_channel', 'I’m not in this channel. Invite me with /invite @Domain Steward.', true],
  ['is_archived', 'the channel is archived. Choose another channel', false],
  ['restricted_action', 'only some people can post there. Ask a workspace admin to allow me', false],
  [
    'ekm_access_denied',
    'Slack refused this (ekm_access_denied). If it keeps failing, tell your operator.',
    false,
  ],
])('admins are notified about %s and its fix', async (code, words, isInvited) => {
  const bot = await startMorning(`${code.replaceAll('_', '-')}.rest`);
  // An unknown refusal may be over within a minute.
  rig.now = new Date(rig.now.getTime() + 1_000);
  workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code, times: 1 });
  expect(await rig.runDigest(bot)).toBe('postponed');
  const [message] = workspace.messages('D0ADA').slice(-1);
  if (message === undefined) throw new Error('no admin was notified');
  const text = textOf(message);
  expect(text).toContain(words);
  expect(text).toContain('/domain settings');
  expect(text.includes('/invite')).toBe(isInvited);
  rig.now = new Date(rig.now.getTime() + 2_000);
  expect(await rig.runDigest(bot)).toBe('posted');
});
