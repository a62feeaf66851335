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
import { silent } from '../../expiry/rig.ts';
import { rule } from '../../policy/sample.ts';
import { slackContextWith } from '../../support/context.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { buttonsOf, DOMAINS, textOf } from '../../support/demo.ts';
import { notifierDeps, notifyDue } from '../../support/notifier.ts';
import { confirmProposal, proposalsOf } from '../../support/proposals.ts';
import { newTeamSettings } from '../../support/settings.ts';

/* Everyone who can confirm a change is asked despite failures, and learns its result. */

const HOUR_MS = 3_600_000;

let database: TestDatabase;
let db: Database;
let workspace: Workspace;
let nowMs: number;
let before: ReadonlyMap<string, number>;
let approvalChannel: string | undefined;
const NOTHING_SET = { owner: undefined, tags: [], channel: undefined, note: undefined };
const now = () => new Date(nowMs);
const GENERAL = 'C0GENERAL';
const CHANNELS = ['D0ADA', 'D0BOB', 'D0CAROL', GENERAL, DOMAINS];

beforeAll(async () => {
  [database, workspace] = await Promise.all([createTestDatabase(), startWorkspace()]);
  db = openDatabase({ url: database.url });
});
beforeEach(async () => {
  nowMs = Date.parse('2027-06-14T12:00:00Z');
  workspace.faults.clear();
  approvalChannel = undefined;
  before = new Map(CHANNELS.map((channel) => [channel, workspace.messages(channel).length]));
  await db.prisma.notification.deleteMany();
  await db.prisma.proposal.deleteMany();
  await db.prisma.policyDraft.deleteMany();
});
afterAll(async () => {
  await workspace.close();
  await db.close();
  await database.drop();
});

/** a direct message since the test began. */
const shown = (channel: string) => workspace.messages(channel).slice(before.get(channel));
const proposals = () => proposalsOf(db, 'T0TEAM', { approvals_required: '2' });
const confirm = (id: string) => confirmProposal(proposals(), id, 'U0BOB', now());
const withdraw = (proposal: Proposal, by: string) => proposals().withdraw(proposal, by, now());
const propose = (change: ProposedChange, origin?: MessagePlace) =>
  proposals().propose({
    ...change,
    ...{ proposer: 'U0ADA', proposedAt: now(), expiresAt: new Date(nowMs + 24 * HOUR_MS), origin },
  });
const SETTING = { name: 'approvals_required', before: '2', after: '1' };
const ask = () => propose({ kind: 'settings', payload: [SETTING] });
/** Ada requests, in a thread of a channel or elsewhere, to take a name off the watch list. */
const askAboutName = (origin: MessagePlace) => {
  const names = [{ name: 'cafe.rest', before: NOTHING_SET, after: undefined }];
  return propose({ kind: 'facts', payload: { names } }, origin);
};
/** Ada requests, in the thread of a digest, to let a name lapse. */
const askToLapse = (origin: MessagePlace) => {
  const decision = { kind: 'lapse_confirmed', reason: 'not needed', askedBy: 'U0ADA' } as const;
  const names = [{ name: 'cafe.rest', before: NOTHING_SET, after: NOTHING_SET, decision }];
  const lapse = { kind: 'lapse', subject: 'cafe.rest', payload: { names } } as const;
  return proposals().propose({ ...lapse, proposer: 'U0ADA', proposedAt: now(), origin });
};
const policies = () => createPolicyStore(db, 'T0TEAM', true);
/** Ada publishes a rule. @returns the revision */
async function publish(name: string): Promise<string> {
  const { revision } = getDraftBase(await policies().current(), await policies().findDraft());
  const draft = await policies().saveDraft([rule({ name })], revision, 'U0ADA', now());
  await policies().publish(draft?.revision ?? '', 'U0ADA', now());
  return draft?.revision ?? '';
}

function look() {
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
      names: { impacts: { assessName: () => Promise.reject(new Error('nothing is seen')) } },
      savedSettings: async () => newTeamSettings({ approvalChannel }),
      now,
      log: silent,
    }),
  );
  const notifications = createNotificationStore(db, 'T0TEAM');
  return notifyDue(notifierDeps({ notifications, web, now }, { proposal: planner }));
}

test('every other admin is asked once, and every question shows its result', async () => {
  const { id } = await ask();
  await look();
  await ask();
  await look();
  expect(shown('D0ADA')).toEqual([]);
  for (const channel of ['D0BOB', 'D0CAROL'])
    expect(shown(channel).map(buttonsOf)).toEqual([['settings_confirm', 'settings_dismiss']]);
  expect(await confirm(id)).toMatchObject({ kind: 'applied' });
  await look();
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL']) {
    expect(shown(channel).map(textOf)).toEqual([
      expect.stringContaining('Requested by <@U0ADA>, confirmed by <@U0BOB>'),
    ]);
    expect(shown(channel).flatMap(buttonsOf)).toEqual([]);
  }
});

test('an unconfirmed change shows that it expired', async () => {
  await ask();
  await look();
  expect(await look(), 'it is not looked at all the time').toEqual([]);
  for (let hour = 0; hour < 24; hour += 1) {
    nowMs += HOUR_MS;
    await look();
  }
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL'])
    expect(shown(channel).map(textOf)).toEqual([expect.stringContaining('No one confirmed it in time.')]);
});

test('a change withdrawn by its requester leaves no question behind', async () => {
  const proposal = await ask();
  await look();
  await withdraw(proposal, 'U0ADA');
  await look();
  expect(shown('D0CAROL').map(textOf)).toEqual([expect.stringContaining('Discarded by <@U0ADA>.')]);
  expect(shown('D0ADA')).toEqual([]);
});

test('a change of names is asked about in its place, which then shows the result', async () => {
  approvalChannel = GENERAL;
  const { ts } = workspace.as('U0ADA').say(DOMAINS, 'cafe.rest is sold');
  const proposal = await askAboutName({ channelId: DOMAINS, threadTs: ts });
  await look();
  const [, question] = shown(DOMAINS);
  expect(question).toMatchObject({ thread_ts: ts });
  expect(shown(DOMAINS).flatMap(buttonsOf)).toEqual(['facts_confirm', 'facts_dismiss']);
  await withdraw(proposal, 'U0BOB');
  await look();
  expect(shown(DOMAINS).slice(1).map(textOf)).toEqual([
    expect.stringContaining('<@U0BOB> discarded a change to cafe.rest that <@U0ADA> requested.'),
  ]);
  expect(['D0ADA', 'D0BOB', 'D0CAROL', GENERAL].flatMap(shown)).toEqual([]);
});

test('if no channel accepts the question about a name, each of the approvers is asked', async () => {
  workspace.faults.set({ method: 'chat.postMessage', kind: 'error', code: 'not_in_channel', times: 2 });
  approvalChannel = GENERAL;
  await askAboutName({ channelId: DOMAINS });
  await look();
  nowMs += 24 * HOUR_MS;
  await look();
  expect([DOMAINS, GENERAL].flatMap(shown)).toEqual([]);
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL'])
    expect(shown(channel).map(textOf)).toEqual([expect.stringContaining('wasn’t confirmed in time')]);
});

test('a request in a direct message is asked about in the approvers’ channel', async () => {
  approvalChannel = GENERAL;
  await askAboutName({ channelId: 'D0ADA' });
  await look();
  expect(shown(GENERAL).map(buttonsOf)).toEqual([['facts_confirm', 'facts_dismiss']]);
  expect(['D0ADA', 'D0BOB'].flatMap(shown)).toEqual([]);
});

test('the other admins are asked about a published policy, and all learn that it is in force', async () => {
  const revision = await publish('large renewals');
  await look();
  expect(shown('D0ADA')).toEqual([]);
  for (const channel of ['D0BOB', 'D0CAROL'])
    expect(shown(channel).map(buttonsOf)).toEqual([['policy_confirm']]);
  expect(await confirm(revision)).toMatchObject({ kind: 'applied' });
  await look();
  for (const channel of ['D0ADA', 'D0BOB', 'D0CAROL']) {
    expect(shown(channel).map(textOf)).toEqual([expect.stringContaining('confirmed by <@U0BOB>')]);
    expect(shown(channel).flatMap(buttonsOf)).toEqual([]);
  }
});

test.each([
  ['changed', (revision: string) => policies().saveDraft([], revision, 'U0BOB', now())],
  ['discarded', (revision: string) => policies().discardDraft(revision, 'U0BOB', now())],
])('the question about a published policy that was %s has no buttons', async (_how, withdraw) => {
  const revision = await publish('something else');
  await look();
  await withdraw(revision);
  await look();
  expect(shown('D0BOB').map(textOf)).toEqual([expect.stringContaining('The new policy won’t take effect')]);
  expect(shown('D0BOB').flatMap(buttonsOf)).toEqual([]);
  expect(shown('D0ADA').map(textOf), 'the publisher is notified').toHaveLength(1);
});

test('a requested lapse is asked about in its thread, with what couldn’t be seen', async () => {
  const { ts } = workspace.as('U0ADA').say(DOMAINS, 'cafe.rest expires');
  await askToLapse({ channelId: DOMAINS, threadTs: ts });
  await look();
  const [, question] = shown(DOMAINS);
  expect(question).toMatchObject({ thread_ts: ts });
  if (question === undefined) throw new Error('no question was posted');
  expect(buttonsOf(question)).toEqual(['lapse_confirm']);
  expect(textOf(question)).toMatch(/let it lapse.*<@U0ADA>: “not needed”.*Couldn’t be checked/s);
});
