import { describe, expect, it } from 'vitest';
import {
  buildApproverRights,
  checkCanDecide,
  loadPeople,
  resolvePeople,
} from '../../src/approvals/approvers.ts';
import { buildDefaultRequirement, getRequestedRequirements } from '../../src/approvals/requirements.ts';
import type { OrdersContext } from '../../src/orders/context.ts';
import type { Refusal } from '../../src/orders/refusal.ts';
import { refusalText } from '../../src/slack/orders/refusal.view.ts';
import { newOrder } from '../orders/sample.ts';
import { newTeamSettings } from '../support/settings.ts';

const order = newOrder(['cafe.rest'], { requesterId: 'U0ALICE' });
const policyOf = (approvers: readonly string[], allowSelfApproval = false) => ({
  approvers: new Set(approvers),
  unconfirmed: new Set<string>(),
  unreadableGroups: [],
  allowSelfApproval,
});

const said = (refusal: Refusal | undefined) => (refusal === undefined ? 'nothing' : refusalText(refusal));

describe('approval rights', () => {
  const SOMEBODY_ELSE = /someone else has to approve/;
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
    ['somebody', 'U0BOB', false, false, ONLY_APPROVERS, ONLY_APPROVERS],
    ['somebody', 'U0BOB', false, true, ONLY_APPROVERS, ONLY_APPROVERS],
    ['the requester as an approver', 'U0ALICE', true, false, SOMEBODY_ELSE, undefined],
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
      else expect(said(refusal), decision).toMatch(expected);
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
  const slack = (silent: readonly string[] = [], left: readonly string[] = []) => {
    const asked: string[] = [];
    return {
      asked,
      listGroupMembers: async (group: string) => {
        asked.push(group);
        return silent.includes(group) ? undefined : (groups[group] ?? []);
      },
      findMembership: async (userId: string) => {
        asked.push(userId);
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
    const known = await loadPeople({ directory, standIns: new Map(), at: now }, [requirement], userIds);
    return buildApproverRights(
      { requirements: list, requesters: new Set(), userIds },
      known,
      await loadSettings(),
      now,
    );
  };
  const LISTED = ['U0BOB', 'W0ADA', 'S0LEADS', 'S0EMPTY'];

  it('accepts people and members of groups, and no group as a person', async () => {
    const { approvers } = await currentPolicy({ loadSettings: settingsWith(LISTED), directory: slack() }, [
      'U0BOB',
      'W0ADA',
      'U0CAROL',
      'U0EVE',
      'S0LEADS',
    ]);
    expect([...approvers].sort()).toEqual(['U0BOB', 'U0CAROL', 'W0ADA']);
  });

  it('replaces groups by their members, each person once, and names groups that Slack doesn’t return', async () => {
    expect(await resolvePeople(slack(['S0SECRET']), ['U0BOB', 'S0LEADS', 'S0SECRET', 'S0EMPTY'])).toEqual({
      people: ['U0BOB', 'U0CAROL'],
      unreadableGroups: ['S0SECRET'],
    });
  });

  it('reads groups only for people who aren’t listed themselves', async () => {
    const directory = slack();
    await currentPolicy({ loadSettings: settingsWith(LISTED), directory }, ['U0BOB', 'W0ADA']);
    expect(directory.asked).toEqual(['U0BOB', 'W0ADA']);
    await currentPolicy({ loadSettings: settingsWith(LISTED), directory }, ['U0EVE']);
    expect(directory.asked.slice(2)).toEqual(['S0LEADS', 'S0EMPTY']);
  });

  it('counts a group that Slack doesn’t return as empty, and names it', async () => {
    const policy = await currentPolicy(
      { loadSettings: settingsWith(LISTED), directory: slack(['S0LEADS']) },
      ['U0BOB', 'U0CAROL'],
    );
    expect([...policy.approvers]).toEqual(['U0BOB']);
    expect(policy.unreadableGroups).toEqual(['S0LEADS']);
    expect(checkCanDecide(order, 'U0BOB', 'approve', policy)).toBeUndefined();
    expect(said(checkCanDecide(order, 'U0CAROL', 'approve', policy))).toMatch(
      /didn’t return the members of <!subteam\^S0LEADS>.* Try again in a minute/,
    );
  });

  it('a person who has left, or that Slack doesn’t return, is no approver', async () => {
    const policy = await currentPolicy(
      { loadSettings: settingsWith(LISTED), directory: slack(['U0CAROL'], ['U0BOB']) },
      ['U0BOB', 'U0CAROL'],
    );
    expect(policy.approvers.size).toBe(0);
    expect(said(checkCanDecide(order, 'U0BOB', 'approve', policy))).toMatch(/Only approvers can approve/);
    expect(said(checkCanDecide(order, 'U0CAROL', 'deny', policy))).toMatch(
      /doesn’t confirm that you’re still a member/,
    );
  });
});
