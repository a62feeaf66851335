import { describe, expect, it, test } from 'vitest';
import {
  buildApproverRights,
  checkCanDecide,
  findSilentPeople,
  loadApproverStatus,
  loadPeople,
  loadStandIns,
  resolvePeople,
} from '../../src/approvals/approvers.ts';
import { buildDefaultRequirement, getRequestedRequirements } from '../../src/approvals/requirements.ts';
import type { OrdersContext } from '../../src/orders/context.ts';
import type { Order } from '../../src/orders/order.ts';
import type { Directory } from '../../src/orders/ports.ts';
import type { Refusal } from '../../src/orders/refusal.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { newOrder, newRequirements } from '../orders/sample.ts';
import { contextWith } from '../support/context.ts';
import { newTeamSettings } from '../support/settings.ts';

const order = newOrder(['cafe.rest'], { requesterId: 'U0ALICE' });
const policyOf = (approvers: readonly string[], allowSelfApproval = false) => ({
  approvers: new Set(approvers),
  unconfirmedIds: new Set<string>(),
  unreadableGroups: [],
  allowSelfApproval,
});

const textOf = (refusal: Refusal | undefined) => (refusal === undefined ? 'nothing' : refusalText(refusal));

describe('approval rights', () => {
  const SOMEONE_ELSE = /someone else has to approve/;
  const AN_APPROVER = /You requested.* an approver has to approve/i;
  const ONLY_APPROVERS = /Only approvers can/;

  it.each<
    [
      who: string,
      userId: string,
      isApprover: boolean,
      selfAllowed: boolean,
      approve: RegExp | undefined,
      deny: RegExp | undefined,
    ]
  >([
    ['an approver', 'U0BOB', true, false, undefined, undefined],
    ['an approver', 'U0BOB', true, true, undefined, undefined],
    ['another person', 'U0BOB', false, false, ONLY_APPROVERS, ONLY_APPROVERS],
    ['another person', 'U0BOB', false, true, ONLY_APPROVERS, ONLY_APPROVERS],
    ['the requester as an approver', 'U0ALICE', true, false, SOMEONE_ELSE, undefined],
    ['the requester as an approver', 'U0ALICE', true, true, undefined, undefined],
    ['the requester', 'U0ALICE', false, false, AN_APPROVER, ONLY_APPROVERS],
    ['the requester', 'U0ALICE', false, true, ONLY_APPROVERS, ONLY_APPROVERS],
  ])('%s (%s, approver: %s, own approval allowed: %s)', (_who, userId, isApprover, self, approve, deny) => {
    const policy = policyOf(isApprover ? ['U0ADA', userId] : ['U0ADA'], self);
    for (const [decision, expected] of [
      ['approve', approve],
      ['deny', deny],
    ] as const) {
      const refusal = checkCanDecide(order, userId, decision, policy);
      if (expected === undefined) expect(refusal, decision).toBeUndefined();
      else expect(textOf(refusal), decision).toMatch(expected);
    }
  });
});

describe('the current policy', () => {
  const settingsWith = (approvers: readonly string[]) => async () =>
    newTeamSettings({ approvers, approvalTasks: [] });
  const groups: Readonly<Record<string, readonly string[]>> = {
    S0LEADS: ['U0CAROL', 'U0BOB'],
    S0EMPTY: [],
  };

  /** @param silent groups and people that Slack doesn't return */
  const newSlack = (silent: readonly string[] = [], left: readonly string[] = []) => {
    const lookups: string[] = [];
    return {
      lookups,
      listGroupMembers: async (group: string) => {
        lookups.push(group);
        return silent.includes(group) ? undefined : (groups[group] ?? []);
      },
      findMembership: async (userId: string) => {
        lookups.push(userId);
        if (left.includes(userId)) return 'left';
        return silent.includes(userId) ? 'unknown' : 'member';
      },
    } as const;
  };
  const currentPolicy = async (
    { loadSettings, directory }: Pick<OrdersContext, 'loadSettings' | 'directory'>,
    userIds: readonly string[],
  ) => {
    const now = new Date();
    const requirement = buildDefaultRequirement(await loadSettings(), ['cafe.rest']);
    const { list } = getRequestedRequirements(order, await loadSettings());
    const known = await loadPeople({ directory, standIns: new Map() }, [requirement], userIds);
    return buildApproverRights(
      { requirements: list, requesters: new Set(), userIds },
      known,
      await loadSettings(),
      now,
    );
  };
  const LISTED = ['U0BOB', 'W0ADA', 'S0LEADS', 'S0EMPTY'];

  it('accepts listed people and group members, but not a group as a person', async () => {
    const { approvers } = await currentPolicy({ loadSettings: settingsWith(LISTED), directory: newSlack() }, [
      'U0BOB',
      'W0ADA',
      'U0CAROL',
      'U0EVE',
      'S0LEADS',
    ]);
    expect([...approvers].sort()).toEqual(['U0BOB', 'U0CAROL', 'W0ADA']);
  });

  it('replaces groups with their members, without duplicates, and lists unreadable groups', async () => {
    expect(await resolvePeople(newSlack(['S0SECRET']), ['U0BOB', 'S0LEADS', 'S0SECRET', 'S0EMPTY'])).toEqual({
      people: ['U0BOB', 'U0CAROL'],
      unreadableGroups: ['S0SECRET'],
    });
  });

  it('reads groups only for people who aren’t listed themselves', async () => {
    const directory = newSlack();
    await currentPolicy({ loadSettings: settingsWith(LISTED), directory }, ['U0BOB', 'W0ADA']);
    expect(directory.lookups).toEqual(['U0BOB', 'W0ADA']);
    await currentPolicy({ loadSettings: settingsWith(LISTED), directory }, ['U0EVE']);
    expect(directory.lookups.slice(2)).toEqual(['S0LEADS', 'S0EMPTY']);
  });

  it('treats a group that Slack doesn’t return as empty, and names it', async () => {
    const policy = await currentPolicy(
      { loadSettings: settingsWith(LISTED), directory: newSlack(['S0LEADS']) },
      ['U0BOB', 'U0CAROL'],
    );
    expect([...policy.approvers]).toEqual(['U0BOB']);
    expect(policy.unreadableGroups).toEqual(['S0LEADS']);
    expect(checkCanDecide(order, 'U0BOB', 'approve', policy)).toBeUndefined();
    expect(textOf(checkCanDecide(order, 'U0CAROL', 'approve', policy))).toMatch(
      /didn’t return the members of <!subteam\^S0LEADS>.* Try again in a minute/,
    );
  });

  it('excludes people who have left or whom Slack doesn’t return', async () => {
    const policy = await currentPolicy(
      { loadSettings: settingsWith(LISTED), directory: newSlack(['U0CAROL'], ['U0BOB']) },
      ['U0BOB', 'U0CAROL'],
    );
    expect(policy.approvers.size).toBe(0);
    expect(textOf(checkCanDecide(order, 'U0BOB', 'approve', policy))).toMatch(/Only approvers can approve/);
    expect(textOf(checkCanDecide(order, 'U0CAROL', 'deny', policy))).toMatch(
      /can’t confirm right now that you’re still a member/,
    );
  });
});

describe('silent approvers and stand-ins', () => {
  const GROUPS: Readonly<Record<string, readonly string[]>> = {
    S0LEADS: ['U0CAROL', 'U0BOB'],
    S0OTHERS: ['U0BOB'],
  };
  const readGroups: string[] = [];
  const directory: Directory = {
    findMembership: async () => 'member',
    listGroupMembers: async (id) => {
      readGroups.push(id);
      return GROUPS[id];
    },
  };

  test.each<[string, approvers: string[], silent: string[], expected: string[], groupReads: number]>([
    ['include a silent person who is in a notified group', ['U0BOB', 'S0LEADS'], ['U0BOB'], ['U0BOB'], 1],
    ['include those only in a silent group', ['S0LEADS', 'S0OTHERS'], ['S0LEADS'], ['U0CAROL'], 2],
    ['are none, without reading a group, if none is listed', ['U0BOB', 'S0LEADS'], [], [], 0],
  ])('silent approvers %s', async (_, approvers, silent, expected, reads) => {
    readGroups.length = 0;
    expect([...(await findSilentPeople(directory, [{ approvers, silent }]))]).toEqual(expected);
    expect(readGroups).toHaveLength(reads);
  });

  test.each<[string, away: string, standIn: string, isNotified: boolean]>([
    ['for an approver', 'U0CAROL', 'U0DORA', true],
    ['for another person', 'U0EVE', 'U0DORA', false],
    ['for a silent approver', 'U0SAM', 'U0DORA', false],
    ['with their own right to approve', 'U0CAROL', 'U0BOB', false],
    ['for the requester', 'U0ALICE', 'U0DORA', false],
    ['with the requester’s ID', 'U0CAROL', 'U0ALICE', false],
  ])('the stand-in %s is notified only if they may approve', async (_, away, userId, isNotified) => {
    const standIns = new Map([[away, { userId, until: new Date() }]]);
    const context = contextWith({
      ...{ directory, now: () => new Date() },
      standIns: { loadActiveStandIns: async () => standIns },
    });
    const { list, ...requirements } = newRequirements(['cafe.rest']);
    const people = { approvers: ['S0LEADS', 'U0SAM', 'U0ALICE'], silent: ['U0SAM'] };
    const found = await loadStandIns(context, order, {
      ...requirements,
      list: list.map((each) => ({ ...each, ...people })),
    });
    expect([...found]).toEqual(isNotified ? [...standIns] : []);
  });

  test('group members aren’t read if nobody is away', async () => {
    readGroups.length = 0;
    const nobody = {
      standIns: { loadActiveStandIns: async () => new Map() },
      directory,
      now: () => new Date(),
    };
    const { list, ...requirements } = newRequirements(['cafe.rest']);
    const leads = list.map((each) => ({ ...each, approvers: ['S0LEADS'] }));
    await loadStandIns(contextWith(nobody), order, { ...requirements, list: leads });
    expect(readGroups).toEqual([]);
  });

  test('only stand-ins of approvers are looked up', async () => {
    const lookups: string[] = [];
    const findMembership = async (id: string) => {
      lookups.push(id);
      return 'unknown' as const;
    };
    const standIns = new Map(
      [
        ['U0EVE', 'U0DORA'],
        ['U0BOB', 'U0DORA'],
        ['U0SAM', 'U0NINA'],
      ].map(([away = '', userId = '']) => [away, { userId, until: new Date() }]),
    );
    const approvers = [buildDefaultRequirement(newTeamSettings({ approvers: ['U0BOB', 'U0SAM'] }), [])];
    const source = { directory: { ...directory, findMembership }, standIns };
    const { unconfirmedIds } = await loadPeople(source, approvers, ['U0DORA']);
    expect(lookups).toEqual(['U0BOB', 'U0DORA']);
    expect([...unconfirmedIds]).toEqual(['U0DORA']);
  });
});

describe('the decision queue', () => {
  const RULE = { kind: 'rule', version: 1, index: 0, name: 'finance' } as const;
  const { list, ...requirements } = newRequirements(['cafe.rest']);
  const byRule = {
    requirements: {
      ...requirements,
      list: list.map((each) => ({ ...each, rule: RULE, approvers: ['U0CFO'] })),
    },
  };
  const approvedBy = (userId: string) => ({ approvals: [{ userId, at: new Date(), agreedExcess: [] }] });

  test.each<[string, userId: string, Partial<Order>[], selfAllowed: boolean, found: string]>([
    ['an approver in the settings, without orders', 'U0BOB', [], false, 'approver'],
    ['another person', 'U0EVE', [{}], false, ''],
    ['an approver of a rule, without orders', 'U0CFO', [], false, ''],
    ['an approver of a rule', 'U0CFO', [byRule], false, 'approver, decides 1'],
    ['an approver', 'U0BOB', [{}], false, 'approver, decides 1'],
    ['an approver, if a rule names others', 'U0BOB', [byRule], false, 'approver'],
    ['an approver who has approved', 'U0BOB', [approvedBy('U0BOB')], false, 'approver'],
    ['an approver, after another approval', 'U0BOB', [approvedBy('U0CFO')], false, 'approver, decides 1'],
    ['an approver as requester', 'U0BOB', [{ requesterId: 'U0BOB' }], false, 'approver'],
    [
      'an approver as requester, if allowed',
      'U0BOB',
      [{ requesterId: 'U0BOB' }],
      true,
      'approver, decides 1',
    ],
    ['an approver, order unknown', 'U0BOB', [{ ...byRule, state: 'UNKNOWN' }], false, 'approver, settles 1'],
    [
      'a rule’s approver, order unknown',
      'U0CFO',
      [{ ...byRule, state: 'UNKNOWN' }],
      false,
      'approver, settles 1',
    ],
  ])('of %s (%s)', async (_, userId, overrides, allowSelfApproval, expected) => {
    const context = contextWith({
      now: () => new Date(),
      loadSettings: async () => newTeamSettings({ allowSelfApproval }),
      standIns: { loadActiveStandIns: async () => new Map() },
      directory: { findMembership: async () => 'member', listGroupMembers: async () => [] },
    });
    const orders = overrides.map((each) => newOrder(['cafe.rest'], each));
    const { isApprover, ordersToDecide, ordersToResolve } = await loadApproverStatus(context, userId, orders);
    const parts = [
      isApprover && 'approver',
      ordersToDecide.length > 0 && `decides ${ordersToDecide.length}`,
      ordersToResolve.length > 0 && `settles ${ordersToResolve.length}`,
    ];
    expect(parts.filter((part) => part !== false).join(', ')).toBe(expected);
  });
});
