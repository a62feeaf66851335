import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Proposal, ProposedChange } from '../../../src/approvals/proposals/proposal.ts';
import type { MessagePlace } from '../../../src/outbox/notifications.ts';
import { getDraftBase } from '../../../src/policy/drafts.ts';
import { Secret } from '../../../src/service/secret.ts';
import { createDirectory } from '../../../src/slack/outbound/directory.ts';
import { createSlackWeb } from '../../../src/slack/outbound/web.ts';
import { createProposalPlanner } from '../../../src/slack/proposals/proposal-notifications.ts';
import { type Database, openDatabase } from '../../../src/store/database.ts';
import { createNotificationStore } from '../../../src/store/notifications.ts';
import { createPolicyStore } from '../../../src/store/policies.ts';
import { createPriceStore } from '../../../src/store/prices.ts';
import { silentLog } from '../../expiry/rig.ts';
import { newPolicyRule } from '../../policy/sample.ts';
import { slackContextWith } from '../../support/context.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { buttonsOf, DOMAINS, textOf } from '../../support/demo.ts';
import { notifierDeps, notifyDue } from '../../support/notifier.ts';
import { confirmProposal, newProposalStore } from '../../support/proposals.ts';
import { newTeamSettings } from '../../support/settings.ts';

/* Everyone who can confirm a change is asked, despite failed calls, and learns its result. */

const HOUR_MS = 3_600_000;

let database: TestDatabase;
let db: Database;
let workspace: Workspace;
let nowMs: number;
let earlierMessageCounts: ReadonlyMap<string, number>;
let approvalChannel: string | undefined;
const NO_DETAILS = { owner: undefined, tags: [], channel: undefined, note: undefined };
const now = () => new Date(nowMs);
const GENERAL_CHANNEL = 'C0GENERAL';
const CHANNELS = ['D0ADA', 'D0BOB', 'D0CAROL', GENERAL_CHANNEL, DOMAINS];

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), startWorkspace()]);
  db = openDatabase({ url: database.url });
});
beforeEach(async () => {
  nowMs = Date.parse('2027-06-14T12:00:00Z');
  workspace.faults.clear();
  approvalChannel = undefined;
  earlierMessageCounts = new Map(CHANNELS.map((channel) => [channel, workspace.messages(channel).length]));
  await db.prisma.notification.deleteMany();
  await db.prisma.proposal.deleteMany();
  await db.prisma.policyDraft.deleteMany();
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

/** A channel's messages since the test began. */
const listNewMessages = (channel: string) =>
  workspace.messages(channel).slice(earlierMessageCounts.get(channel));
const proposals = () => newProposalStore(db, 'T0TEAM', { approvals_required: '2' });
const confirm = (id: string) => confirmProposal(proposals(), id, 'U0BOB', now());
const withdraw = (proposal: Proposal, by: string) => proposals().withdraw(proposal, by, now());
const propose = (change: ProposedChange, origin?: MessagePlace) =>
  proposals().propose({
    ...change,
    ...{ proposer: 'U0ADA', proposedAt: now(), expiresAt: new Date(nowMs + 24 * HOUR_MS), origin },
  });
const SETTING_CHANGE = { name: 'approvals_required', before: '2', after: '1' };
const proposeSetting = () => propose({ kind: 'settings', payload: [SETTING_CHANGE] });
/** Ada requests to remove a name from the watch list. */
const proposeRemoval = (origin: MessagePlace) => {
  const names = [{ name: 'cafe.rest', before: NO_DETAILS, after: undefined }];
  return propose({ kind: 'facts', payload: { names } }, origin);
};
/** Ada requests to let a name lapse. */
const proposeLapse = (origin: MessagePlace) => {
  const decision = { kind: 'lapse_confirmed', reason: 'not needed', askedBy: 'U0ADA' } as const;
  const names = [{ name: 'cafe.rest', before: NO_DETAILS, after: NO_DETAILS, decision }];
  const lapse = { kind: 'lapse', subject: 'cafe.rest', payload: { names } } as const;
  return proposals().propose({ ...lapse, proposer: 'U0ADA', proposedAt: now(), origin });
};
const getPolicyStore = () => createPolicyStore(db, 'T0TEAM', true);
/** Ada publishes a rule. @returns the revision */
async function publish(name: string): Promise<string> {
  const { revision } = getDraftBase(
    await getPolicyStore().loadCurrentPolicy(),
    await getPolicyStore().findDraft(),
  );
  const draft = await getPolicyStore().saveDraft([newPolicyRule({ name })], revision, 'U0ADA', now());
  await getPolicyStore().publish(draft?.revision ?? '', 'U0ADA', now());
  return draft?.revision ?? '';
}

function sendDue() {
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  const store = proposals();
  const planner = createProposalPlanner(
    slackContextWith({
      directory: createDirectory(web, workspace.teamId),
      adminsToNotify: async () => ['U0ADA', 'U0BOB', 'U0CAROL'],
      proposals: {
        load: (id) => store.load(id, now()),
        loadProgress: async ({ kind }) =>
          kind !== 'facts'
            ? []
            : [
                {
                  requirement: {
                    rule: { kind: 'approval_tasks' },
                    ...{ names: ['cafe.rest'], needed: 1, silent: [], signed: false },
                    approvers: ['U0BOB', 'U0CAROL', 'U0ADA'],
                  },
                  slots: [],
                },
              ],
      },
      expiry: { find: async () => undefined },
      prices: createPriceStore(db, 'T0TEAM'),
      names: { impacts: { assessName: () => Promise.reject(new Error('no lookups here')) } },
      loadSettings: async () => newTeamSettings({ approvalChannel }),
      now,
      log: silentLog,
    }),
  );
  const notifications = createNotificationStore(db, 'T0TEAM');
  return notifyDue(notifierDeps({ notifications, web, now }, { proposal: planner }));
}

test('every other admin is asked once, and every question shows its result', async () => {
  const { id } = await proposeSetting();
  await sendDue();
  await proposeSetting();
  await sendDue();
  expect(listNewMessages('D0ADA')).toEqual([]);
  for (const channel of ['D0BOB', 'D0CAROL'])
    expect(listNewMessages(channel).map(buttonsOf)).toEqual([['settings_confirm', 'settings_dismiss']]);
  expect(await confirm(id)).toMatchObject({ kind: 'applied' });
  await sendDue();
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL']) {
    expect(listNewMessages(channel).map(textOf)).toEqual([
      expect.stringContaining('Requested by <@U0ADA>, confirmed by <@U0BOB>'),
    ]);
    expect(listNewMessages(channel).flatMap(buttonsOf)).toEqual([]);
  }
});

test('the question about an unconfirmed change says that it expired', async () => {
  await proposeSetting();
  await sendDue();
  expect(await sendDue(), 'nothing is due until it expires').toEqual([]);
  for (let hour = 0; hour < 24; hour += 1) {
    nowMs += HOUR_MS;
    await sendDue();
  }
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL'])
    expect(listNewMessages(channel).map(textOf)).toEqual([
      expect.stringContaining('No one confirmed it in time.'),
    ]);
});

test('the question about a change withdrawn by its requester says so', async () => {
  const proposal = await proposeSetting();
  await sendDue();
  await withdraw(proposal, 'U0ADA');
  await sendDue();
  expect(listNewMessages('D0CAROL').map(textOf)).toEqual([expect.stringContaining('Discarded by <@U0ADA>.')]);
  expect(listNewMessages('D0ADA')).toEqual([]);
});

test('the question about a name and its result are posted where the change was requested', async () => {
  approvalChannel = GENERAL_CHANNEL;
  const { ts } = workspace.as('U0ADA').say(DOMAINS, 'cafe.rest is sold');
  const proposal = await proposeRemoval({ channelId: DOMAINS, threadTs: ts });
  await sendDue();
  const [, question] = listNewMessages(DOMAINS);
  expect(question).toMatchObject({ thread_ts: ts });
  expect(listNewMessages(DOMAINS).flatMap(buttonsOf)).toEqual(['facts_confirm', 'facts_dismiss']);
  await withdraw(proposal, 'U0BOB');
  await sendDue();
  expect(listNewMessages(DOMAINS).slice(1).map(textOf)).toEqual([
    expect.stringContaining('<@U0BOB> discarded a change to cafe.rest that <@U0ADA> requested.'),
  ]);
  expect(['D0ADA', 'D0BOB', 'D0CAROL', GENERAL_CHANNEL].flatMap(listNewMessages)).toEqual([]);
});

test('if no channel accepts the question about a name, each approver is asked directly', async () => {
  workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'not_in_channel', times: 2 });
  approvalChannel = GENERAL_CHANNEL;
  await proposeRemoval({ channelId: DOMAINS });
  await sendDue();
  nowMs += 24 * HOUR_MS;
  await sendDue();
  expect([DOMAINS, GENERAL_CHANNEL].flatMap(listNewMessages)).toEqual([]);
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL'])
    expect(listNewMessages(channel).map(textOf)).toEqual([
      expect.stringContaining('wasn’t confirmed in time'),
    ]);
});

test('the question about a change from a direct message is posted in the approval channel', async () => {
  approvalChannel = GENERAL_CHANNEL;
  await proposeRemoval({ channelId: 'D0ADA' });
  await sendDue();
  expect(listNewMessages(GENERAL_CHANNEL).map(buttonsOf)).toEqual([['facts_confirm', 'facts_dismiss']]);
  expect(['D0ADA', 'D0BOB'].flatMap(listNewMessages)).toEqual([]);
});

test('the other admins are asked about a published policy, and all learn that it is in force', async () => {
  const revision = await publish('large renewals');
  await sendDue();
  expect(listNewMessages('D0ADA')).toEqual([]);
  for (const channel of ['D0BOB', 'D0CAROL'])
    expect(listNewMessages(channel).map(buttonsOf)).toEqual([['policy_confirm']]);
  expect(await confirm(revision)).toMatchObject({ kind: 'applied' });
  await sendDue();
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL']) {
    expect(listNewMessages(channel).map(textOf)).toEqual([expect.stringContaining('confirmed by <@U0BOB>')]);
    expect(listNewMessages(channel).flatMap(buttonsOf)).toEqual([]);
  }
});

test.each([
  ['changed', (revision: string) => getPolicyStore().saveDraft([], revision, 'U0BOB', now())],
  ['discarded', (revision: string) => getPolicyStore().discardDraft(revision, 'U0BOB', now())],
])('the question about a published policy that was %s has no buttons', async (_how, endDraft) => {
  const revision = await publish('something else');
  await sendDue();
  await endDraft(revision);
  await sendDue();
  expect(listNewMessages('D0BOB').map(textOf)).toEqual([
    expect.stringContaining('The new policy won’t take effect'),
  ]);
  expect(listNewMessages('D0BOB').flatMap(buttonsOf)).toEqual([]);
  expect(listNewMessages('D0ADA').map(textOf), 'the publisher is notified').toHaveLength(1);
});

test('the question about a lapse is posted in the thread of its request, with the failed checks', async () => {
  const { ts } = workspace.as('U0ADA').say(DOMAINS, 'cafe.rest expires');
  await proposeLapse({ channelId: DOMAINS, threadTs: ts });
  await sendDue();
  const [, question] = listNewMessages(DOMAINS);
  expect(question).toMatchObject({ thread_ts: ts });
  if (question === undefined) throw new Error('no question was posted');
  expect(buttonsOf(question)).toEqual(['lapse_confirm']);
  expect(textOf(question)).toMatch(/let it lapse.*<@U0ADA>: “not needed”.*Couldn’t be checked/s);
});
