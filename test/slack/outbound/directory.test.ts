import { createDefaultSeed, startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { Secret } from '../../../src/service/secret.ts';
import { createAdminLoader } from '../../../src/slack/admins/admins.ts';
import { createDirectory, type SlackDirectory } from '../../../src/slack/outbound/directory.ts';
import { createSlackWeb, SlackApiError, type SlackWeb } from '../../../src/slack/outbound/web.ts';

/* People and groups in Slack, and the effect of failed calls. */

let workspace: Workspace;
let directory: SlackDirectory;
let nowMs: number;
let waits: number[];
let unreadableGroups: [group: string, code: string | undefined][];

beforeAll(async () => {
  workspace = await startWorkspace();
});
beforeEach(async () => {
  workspace.faults.clear();
  await workspace.setUsergroupMembers('S0APPROVERS', ['U0CAROL']);
  nowMs = 0;
  waits = [];
  unreadableGroups = [];
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  directory = createDirectory(web, workspace.teamId, {
    now: () => nowMs,
    sleep: async (milliseconds) => {
      waits.push(milliseconds);
      nowMs += milliseconds;
    },
    onUnreadableGroup: (group, problem) => unreadableGroups.push([group, problem.code ?? problem.kind]),
  });
});
afterAll(() => workspace.close());

const HOME_TEAM = 'T0STEWARD';
const countCalls = (method: string) => workspace.calls.filter((call) => call.method === method).length;

describe('the admins of the workspace', () => {
  it('are its admins and owners, looked up once a day', async () => {
    const admins = await directory.loadWorkspaceAdmins();
    expect(admins.length).toBeGreaterThan(0);
    for (const userId of admins) expect((await directory.loadPerson(userId, HOME_TEAM)).isAdmin).toBe(true);
    const before = countCalls('users.list');
    nowMs = 23 * 3_600_000;
    expect(await directory.loadWorkspaceAdmins()).toEqual(admins);
    expect(countCalls('users.list') - before).toBe(0);
    nowMs = 25 * 3_600_000;
    await workspace.changePerson(admins[0] ?? '', { deleted: true }, false);
    expect(await directory.loadWorkspaceAdmins()).toEqual(admins.slice(1));
    await workspace.changePerson(admins[0] ?? '', { deleted: false }, false);
  });

  it.each([
    ['come from ADMINS if it is set', ['U0BOB'], undefined, ['U0BOB']],
    ['are empty until Slack has responded once', [], { kind: 'http_500' } as const, []],
  ])('for notifications %s', async (_what, configuredAdmins, fault, expected) => {
    if (fault !== undefined) workspace.faults.set({ method: 'users.list', ...fault });
    expect(await createAdminLoader(configuredAdmins, directory, createLog('silent'))()).toEqual(expected);
  });

  it('for notifications are the last known ones while Slack doesn’t respond', async () => {
    const adminsToNotify = createAdminLoader([], directory, createLog('silent'));
    const known = await adminsToNotify();
    nowMs = 25 * 3_600_000;
    workspace.faults.set({ method: 'users.list', kind: 'http_500' });
    expect(await adminsToNotify()).toEqual(known);
  });
});

describe('a person', () => {
  it.each([
    ['a member', {}, 'member'],
    ['a deactivated user', { deleted: true }, 'left'],
    ['a guest of several channels', { is_restricted: true }, 'left'],
    ['a guest of one channel', { is_ultra_restricted: true }, 'left'],
  ] as const)('has the right membership as %s', async (_what, changes, membership) => {
    await workspace.changePerson('U0BOB', changes, false);
    expect(await directory.findMembership('U0BOB')).toBe(membership);
    expect((await directory.loadPerson('U0BOB', HOME_TEAM)).isMember).toBe(membership === 'member');
    const originalFlags = { deleted: false, is_restricted: false, is_ultra_restricted: false };
    await workspace.changePerson('U0BOB', originalFlags, false);
  });

  it('isn’t a member if they are unknown, from another workspace or the bot itself', async () => {
    for (const id of ['U0DAVE', workspace.botUserId, 'U0NOBODY'])
      expect(await directory.findMembership(id), id).toBe('left');
    expect(await directory.loadPerson('U0NOBODY', HOME_TEAM), 'in this workspace').toMatchObject({
      isMember: false,
    });
    expect((await directory.loadPerson('U0BOB', 'T0ELSEWHERE')).isMember).toBe(false);
  });

  it('from a sibling workspace is accepted only if Slack confirms it', async () => {
    const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
    const orgDirectory = createDirectory(web, workspace.teamId, { orgId: 'E0STEWARD' });
    workspace.faults.set({ method: 'users.info', kind: 'http_500' });
    await expect(orgDirectory.loadPerson('U0DAVE', 'T0ELSEWHERE')).rejects.toThrow(SlackApiError);
    workspace.faults.clear();
    expect((await orgDirectory.loadPerson('U0DAVE', 'T0ELSEWHERE')).isMember, 'without an organization').toBe(
      false,
    );
  });

  it.each([
    ['http_500', { kind: 'http_500' }],
    ['too many calls', { kind: 'ratelimited', retryAfterSeconds: 1 }],
    ['a missing scope', { kind: 'error', code: 'missing_scope' }],
  ] as const)(
    'in a signed request counts as an unconfirmed member while users.info fails (%s)',
    async (_what, fault) => {
      workspace.faults.set({ method: 'users.info', ...fault });
      expect(await directory.loadPerson('U0ADA', HOME_TEAM)).toEqual({
        id: 'U0ADA',
        isMember: true,
        isAdmin: false,
        isConfirmed: false,
      });
      expect(await directory.findMembership('U0ADA')).toBe('unknown');
      await expect(directory.loadPerson('U0ADA', undefined)).rejects.toThrow(SlackApiError);
      workspace.faults.clear();
      nowMs += 1_000;
      expect(await directory.loadPerson('U0ADA', HOME_TEAM), 'once Slack responds').toMatchObject({
        isAdmin: true,
        isConfirmed: true,
      });
    },
  );

  it('is read once a minute, and again when Slack announces a change', async () => {
    const before = countCalls('users.info');
    await Promise.all(Array.from({ length: 200 }, () => directory.loadPerson('U0ALICE', HOME_TEAM)));
    nowMs = 59_999;
    await directory.findMembership('U0ALICE');
    expect(countCalls('users.info') - before).toBe(1);
    directory.forgetPerson('U0ALICE');
    await directory.findMembership('U0ALICE');
    expect(countCalls('users.info') - before).toBe(2);
    nowMs += 60_000;
    await directory.findMembership('U0ALICE');
    expect(countCalls('users.info') - before).toBe(3);
  });
});

describe('a group', () => {
  it('is read at most six times for twenty decisions a minute, far below Slack’s limit', async () => {
    const before = countCalls('usergroups.users.list');
    for (let decision = 0; decision < 20; decision += 1) {
      // One call is for the decision, and one for the Home tab.
      await Promise.all([
        directory.listGroupMembers('S0APPROVERS'),
        directory.listGroupMembers('S0APPROVERS'),
      ]);
      nowMs += 3_000;
    }
    expect(nowMs).toBe(60_000);
    expect(countCalls('usergroups.users.list') - before).toBeLessThanOrEqual(6);
  });

  it('is read again when Slack announces a change', async () => {
    expect(await directory.listGroupMembers('S0APPROVERS')).toEqual(['U0CAROL']);
    await workspace.setUsergroupMembers('S0APPROVERS', []);
    expect(await directory.listGroupMembers('S0APPROVERS'), 'before the announcement').toEqual(['U0CAROL']);
    directory.forgetGroup('S0APPROVERS');
    expect(await directory.listGroupMembers('S0APPROVERS')).toEqual([]);
  });

  it('that Slack doesn’t return is reported, and used once Slack returns it', async () => {
    workspace.faults.set({ method: 'usergroups.users.list', kind: 'error', code: 'missing_scope', times: 1 });
    expect(await directory.listGroupMembers('S0APPROVERS')).toBeUndefined();
    expect(await directory.listGroupMembers('S0APPROVERS')).toEqual(['U0CAROL']);
    expect(await directory.listGroupMembers('S0NOBODY')).toBeUndefined();
    expect(unreadableGroups).toEqual([
      ['S0APPROVERS', 'missing_scope'],
      ['S0NOBODY', 'no_such_subteam'],
    ]);
  });
});

describe('a person’s number format', () => {
  /** Uses a stub, because the local workspace has no locales. */
  const findLocale = (locale: string | undefined) => {
    const asked: Readonly<Record<string, unknown>>[] = [];
    const web: SlackWeb = {
      call: async (_method, args, answer) => {
        asked.push(args);
        return answer.parse({ ok: true, user: { locale } });
      },
    };
    return { asked, locale: createDirectory(web, HOME_TEAM).findLocale('U0BOB') };
  };

  it.each([
    ['de-DE', 'de-DE'],
    ['no_such tag', 'en-GB'],
    [undefined, 'en-GB'],
  ])('for the locale %s is the locale’s, or English if it is unknown', async (locale, expected) => {
    const { asked, locale: foundLocale } = findLocale(locale);
    expect(await foundLocale).toBe(expected);
    expect(asked).toEqual([{ user: 'U0BOB', include_locale: true }]);
  });

  it('is English while Slack doesn’t respond', async () => {
    workspace.faults.set({ method: 'users.info', kind: 'error', code: 'fatal_error', times: 1 });
    expect(await directory.findLocale('U0BOB')).toBe('en-GB');
  });
});

describe('display-only data of people', () => {
  const ids = Array.from({ length: 400 }, (_, index) => `U0MANY${index}`);
  let crowdedWorkspace: Workspace;
  let crowdDirectory: SlackDirectory;
  let inFlight: number;
  let maxInFlight: number;

  beforeAll(async () => {
    const { users } = createDefaultSeed();
    const [alice] = users;
    if (alice === undefined) throw new Error('the seed has no users');
    const many = ids.map((id, index) => ({ ...alice, id, name: `p${index}`, real_name: `Person ${index}` }));
    crowdedWorkspace = await startWorkspace({ seed: { users: [...users, ...many] } });
  });
  afterAll(() => crowdedWorkspace.close());
  beforeEach(() => {
    crowdedWorkspace.faults.clear();
    inFlight = 0;
    maxInFlight = 0;
    const web = createSlackWeb(new Secret(crowdedWorkspace.botToken), crowdedWorkspace.apiUrl);
    const countingWeb: SlackWeb = {
      async call(method, args, answer) {
        inFlight += 1;
        maxInFlight = Math.max(maxInFlight, inFlight);
        try {
          return await web.call(method, args, answer);
        } finally {
          inFlight -= 1;
        }
      },
    };
    crowdDirectory = createDirectory(countingWeb, crowdedWorkspace.teamId, { now: () => nowMs });
  });
  const countLookups = () => crowdedWorkspace.calls.filter(({ method }) => method === 'users.info').length;

  it('is read for four people at a time, and for 40 of 400 people a minute', async () => {
    const before = countLookups();
    const names = await Promise.all(ids.map((id) => crowdDirectory.findName(id)));
    expect(countLookups() - before).toBe(40);
    expect(maxInFlight).toBeLessThanOrEqual(4);
    expect(names.filter((name) => name !== undefined)).toHaveLength(40);
    nowMs += 60_000;
    const namesAMinuteLater = await Promise.all(ids.map((id) => crowdDirectory.findName(id)));
    expect(countLookups() - before, 'a minute later').toBe(80);
    expect(namesAMinuteLater.filter((name) => name !== undefined)).toHaveLength(80);
    expect(await crowdDirectory.findLocale(ids[0] ?? ''), 'a known person').toBe('en-GB');
    expect(countLookups() - before).toBe(80);
  });

  it('never delays a decision, whether the bot or Slack limits it', async () => {
    await Promise.all(ids.map((id) => crowdDirectory.findName(id)));
    expect(await crowdDirectory.findName('U0BOB')).toBeUndefined();
    expect(await crowdDirectory.findMembership('U0BOB')).toBe('member');
    nowMs += 60_000;
    crowdedWorkspace.faults.set({
      method: 'users.info',
      kind: 'ratelimited',
      retryAfterSeconds: 30,
      times: 1,
    });
    expect(await crowdDirectory.findName('U0BOB')).toBeUndefined();
    expect(await crowdDirectory.findMembership('U0CAROL')).toBe('member');
    expect(await crowdDirectory.loadPerson('U0ADA', HOME_TEAM)).toMatchObject({
      isAdmin: true,
      isConfirmed: true,
    });
  });
});
