import { defaultSeed, startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
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
let unreadable: [group: string, code: string | undefined][];

beforeAll(async () => {
  workspace = await startWorkspace();
});
beforeEach(async () => {
  workspace.faults.clear();
  await workspace.setUsergroup('S0APPROVERS', ['U0CAROL']);
  nowMs = 0;
  waits = [];
  unreadable = [];
  const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
  directory = createDirectory(web, workspace.teamId, {
    now: () => nowMs,
    sleep: async (milliseconds) => {
      waits.push(milliseconds);
      nowMs += milliseconds;
    },
    onUnreadableGroup: (group, problem) => unreadable.push([group, problem.code ?? problem.kind]),
  });
});
afterAll(() => workspace.close());

const HOME = 'T0STEWARD';
const calls = (method: string) => workspace.calls.filter((call) => call.method === method).length;

describe('the admins of the workspace', () => {
  it('are its admins and owners, looked up once a day', async () => {
    const admins = await directory.loadWorkspaceAdmins();
    expect(admins.length).toBeGreaterThan(0);
    for (const userId of admins) expect((await directory.loadPerson(userId, HOME)).isAdmin).toBe(true);
    const before = calls('users.list');
    nowMs = 23 * 3_600_000;
    expect(await directory.loadWorkspaceAdmins()).toEqual(admins);
    expect(calls('users.list') - before).toBe(0);
    nowMs = 25 * 3_600_000;
    await workspace.changePerson(admins[0] ?? '', { deleted: true }, false);
    expect(await directory.loadWorkspaceAdmins()).toEqual(admins.slice(1));
    await workspace.changePerson(admins[0] ?? '', { deleted: false }, false);
  });

  it.each([
    ['come from ADMINS if it is set', ['U0BOB'], undefined, ['U0BOB']],
    ['are empty until Slack has responded once', [], { kind: 'http_500' } as const, []],
  ])('for notifications %s', async (_what, configured, fault, expected) => {
    if (fault !== undefined) workspace.faults.set({ method: 'users.list', ...fault });
    expect(await createAdminLoader(configured, directory, createLog('silent'))()).toEqual(expected);
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
  ] as const)('as %s has the right membership', async (_what, changes, membership) => {
    await workspace.changePerson('U0BOB', changes, false);
    expect(await directory.findMembership('U0BOB')).toBe(membership);
    expect((await directory.loadPerson('U0BOB', HOME)).isMember).toBe(membership === 'member');
    const undone = { deleted: false, is_restricted: false, is_ultra_restricted: false };
    await workspace.changePerson('U0BOB', undone, false);
  });

  it('from another workspace, the bot itself and unknown people aren’t members', async () => {
    for (const id of ['U0DAVE', workspace.botUserId, 'U0NOBODY'])
      expect(await directory.findMembership(id), id).toBe('left');
    expect(await directory.loadPerson('U0NOBODY', HOME), 'whatever the request says').toMatchObject({
      isMember: false,
    });
    expect((await directory.loadPerson('U0BOB', 'T0ELSEWHERE')).isMember).toBe(false);
  });

  it('from a sibling workspace is accepted only if Slack confirms it', async () => {
    const web = createSlackWeb(new Secret(workspace.botToken), workspace.apiUrl);
    const open = createDirectory(web, workspace.teamId, { orgId: 'E0STEWARD' });
    workspace.faults.set({ method: 'users.info', kind: 'http_500' });
    await expect(open.loadPerson('U0DAVE', 'T0ELSEWHERE')).rejects.toThrow(SlackApiError);
    workspace.faults.clear();
    expect((await open.loadPerson('U0DAVE', 'T0ELSEWHERE')).isMember, 'without an organization').toBe(false);
  });

  it.each([
    ['http_500', { kind: 'http_500' }],
    ['too many calls', { kind: 'ratelimited', retryAfter: 1 }],
    ['a missing scope', { kind: 'error', code: 'missing_scope' }],
  ] as const)(
    'with a signed request counts as an unconfirmed member while Slack doesn’t return them (%s)',
    async (_what, fault) => {
      workspace.faults.set({ method: 'users.info', ...fault });
      expect(await directory.loadPerson('U0ADA', HOME)).toEqual({
        id: 'U0ADA',
        isMember: true,
        isAdmin: false,
        isConfirmed: false,
      });
      expect(await directory.findMembership('U0ADA')).toBe('unknown');
      await expect(directory.loadPerson('U0ADA', undefined)).rejects.toThrow(SlackApiError);
      workspace.faults.clear();
      nowMs += 1_000;
      expect(await directory.loadPerson('U0ADA', HOME), 'once Slack responds').toMatchObject({
        isAdmin: true,
        isConfirmed: true,
      });
    },
  );

  it('is read once a minute, and again when Slack announces a change', async () => {
    const before = calls('users.info');
    await Promise.all(Array.from({ length: 200 }, () => directory.loadPerson('U0ALICE', HOME)));
    nowMs = 59_999;
    await directory.findMembership('U0ALICE');
    expect(calls('users.info') - before).toBe(1);
    directory.forgetPerson('U0ALICE');
    await directory.findMembership('U0ALICE');
    expect(calls('users.info') - before).toBe(2);
    nowMs += 60_000;
    await directory.findMembership('U0ALICE');
    expect(calls('users.info') - before).toBe(3);
  });
});

describe('a group', () => {
  it('is read at most six times for twenty decisions a minute, far below Slack’s limit', async () => {
    const before = calls('usergroups.users.list');
    for (let decision = 0; decision < 20; decision += 1) {
      // The decision, and the Home tab that shows it.
      await Promise.all([
        directory.listGroupMembers('S0APPROVERS'),
        directory.listGroupMembers('S0APPROVERS'),
      ]);
      nowMs += 3_000;
    }
    expect(nowMs).toBe(60_000);
    expect(calls('usergroups.users.list') - before).toBeLessThanOrEqual(6);
  });

  it('is read again when Slack announces a change', async () => {
    expect(await directory.listGroupMembers('S0APPROVERS')).toEqual(['U0CAROL']);
    await workspace.setUsergroup('S0APPROVERS', []);
    expect(await directory.listGroupMembers('S0APPROVERS'), 'before the announcement').toEqual(['U0CAROL']);
    directory.forgetGroup('S0APPROVERS');
    expect(await directory.listGroupMembers('S0APPROVERS')).toEqual([]);
  });

  it('that Slack doesn’t return is reported, and used once Slack returns it', async () => {
    workspace.faults.set({ method: 'usergroups.users.list', kind: 'error', code: 'missing_scope', times: 1 });
    expect(await directory.listGroupMembers('S0APPROVERS')).toBeUndefined();
    expect(await directory.listGroupMembers('S0APPROVERS')).toEqual(['U0CAROL']);
    expect(await directory.listGroupMembers('S0NOBODY')).toBeUndefined();
    expect(unreadable).toEqual([
      ['S0APPROVERS', 'missing_scope'],
      ['S0NOBODY', 'no_such_subteam'],
    ]);
  });
});

describe('a person’s number format', () => {
  /** With a stub, because the local workspace has no locales. */
  const findLocale = (locale: string | undefined) => {
    const asked: Readonly<Record<string, unknown>>[] = [];
    const web: SlackWeb = {
      call: async (_method, args, answer) => {
        asked.push(args);
        return answer.parse({ ok: true, user: { locale } });
      },
    };
    return { asked, locale: createDirectory(web, HOME).findLocale('U0BOB') };
  };

  it.each([
    ['de-DE', 'de-DE'],
    ['no_such tag', 'en-GB'],
    [undefined, 'en-GB'],
  ])('for the locale %s is Slack’s, or English if that is unknown', async (locale, expected) => {
    const { asked, locale: found } = findLocale(locale);
    expect(await found).toBe(expected);
    expect(asked).toEqual([{ user: 'U0BOB', include_locale: true }]);
  });

  it('is English while Slack doesn’t respond', async () => {
    workspace.faults.set({ method: 'users.info', kind: 'error', code: 'fatal_error', times: 1 });
    expect(await directory.findLocale('U0BOB')).toBe('en-GB');
  });
});

describe('data of people for display only', () => {
  const ids = Array.from({ length: 400 }, (_, index) => `U0MANY${index}`);
  let crowd: Workspace;
  let open: SlackDirectory;
  let inFlight: number;
  let mostInFlight: number;

  beforeAll(async () => {
    const { users } = defaultSeed();
    const [alice] = users;
    if (alice === undefined) throw new Error('nobody is seeded');
    const many = ids.map((id, index) => ({ ...alice, id, name: `p${index}`, real_name: `Person ${index}` }));
    crowd = await startWorkspace({ seed: { users: [...users, ...many] } });
  });
  afterAll(() => crowd.close());
  beforeEach(() => {
    crowd.faults.clear();
    inFlight = 0;
    mostInFlight = 0;
    const web = createSlackWeb(new Secret(crowd.botToken), crowd.apiUrl);
    const counting: SlackWeb = {
      async call(method, args, answer) {
        inFlight += 1;
        mostInFlight = Math.max(mostInFlight, inFlight);
        try {
          return await web.call(method, args, answer);
        } finally {
          inFlight -= 1;
        }
      },
    };
    open = createDirectory(counting, crowd.teamId, { now: () => nowMs });
  });
  const countLookups = () => crowd.calls.filter(({ method }) => method === 'users.info').length;

  it('is read for four people at a time, and for 40 of 400 people a minute', async () => {
    const before = countLookups();
    const names = await Promise.all(ids.map((id) => open.findName(id)));
    expect(countLookups() - before).toBe(40);
    expect(mostInFlight).toBeLessThanOrEqual(4);
    expect(names.filter((name) => name !== undefined)).toHaveLength(40);
    nowMs += 60_000;
    const more = await Promise.all(ids.map((id) => open.findName(id)));
    expect(countLookups() - before, 'a minute later').toBe(80);
    expect(more.filter((name) => name !== undefined)).toHaveLength(80);
    expect(await open.findLocale(ids[0] ?? ''), 'nothing is read twice').toBe('en-GB');
    expect(countLookups() - before).toBe(80);
  });

  it('never delays a decision, whether limited here or by Slack', async () => {
    await Promise.all(ids.map((id) => open.findName(id)));
    expect(await open.findName('U0BOB')).toBeUndefined();
    expect(await open.findMembership('U0BOB')).toBe('member');
    nowMs += 60_000;
    crowd.faults.set({ method: 'users.info', kind: 'ratelimited', retryAfter: 30, times: 1 });
    expect(await open.findName('U0BOB')).toBeUndefined();
    expect(await open.findMembership('U0CAROL')).toBe('member');
    expect(await open.loadPerson('U0ADA', HOME)).toMatchObject({ isAdmin: true, isConfirmed: true });
  });
});
