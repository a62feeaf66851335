import { describe, expect, test } from 'vitest';
import {
  evaluateProgress,
  type PeopleFacts,
  type Progress,
  type ProgressContext,
} from '../../src/approvals/progress.ts';
import type { Requirements } from '../../src/policy/evaluate.ts';
import { approverIds, GROUPS, groups, PEOPLE, people } from '../policy/arbitraries.ts';
import fc, { runs } from '../support/properties.ts';

const NOW = new Date('2026-11-02T10:00:00Z');
const LATER = new Date('2026-11-09T10:00:00Z');

function demand(
  ...requirements: readonly (readonly [needed: number, ...approvers: string[]])[]
): Requirements {
  return {
    outcome: 'approve',
    list: requirements.map(([needed, ...approvers], index) => ({
      rule: { kind: 'rule', version: 1, index, name: `rule ${index}` },
      names: ['cafe.rest'],
      needed,
      approvers,
      silent: [],
      signed: false,
    })),
    refusedBy: [],
    ttlMs: 1,
    remindAfterMs: 1,
    escalateAfterMs: 1,
    escalateTo: [],
    escalateToAdmins: true,
    breakGlass: false,
  };
}

const EVERYONE: PeopleFacts = {
  groups: new Map([['S0LEGAL', new Set(['U0BOB', 'U0CAROL'])]]),
  membership: new Map(PEOPLE.map((userId) => [userId, 'member'])),
  standIns: new Map(),
};

function context(
  fields: Partial<ProgressContext> & { readonly with?: Partial<PeopleFacts> },
): ProgressContext {
  return {
    requesters: new Set(['U0ANNA']),
    approvedByIds: [],
    signers: new Set(),
    people: { ...EVERYONE, ...fields.with },
    allowSelfApproval: false,
    now: NOW,
    ...fields,
  };
}

/** How many approvals each requirement still needs. */
const missingOf = (requirements: Progress['requirements']) =>
  requirements.map(({ requirement, slots }) => Math.max(0, requirement.needed - slots.length));

const away = (...entries: readonly (readonly [away: string, standIn: string, until?: Date])[]) => ({
  standIns: new Map(entries.map(([who, userId, until = LATER]) => [who, { userId, until }])),
});

describe('approvals', () => {
  test('by listed people and by members of listed groups count', () => {
    const needs = demand([2, 'U0DAVE', 'S0LEGAL']);
    const one = evaluateProgress(needs, context({ approvedByIds: ['U0BOB', 'U0BOB', 'U0EVE'] }));
    expect(one.isApproved).toBe(false);
    expect(one.requirements[0]?.slots).toEqual([{ userId: 'U0BOB', standsInFor: undefined }]);
    expect(evaluateProgress(needs, context({ approvedByIds: ['U0BOB', 'U0DAVE'] })).isApproved).toBe(true);
  });

  test('by one person count for several requirements, and all must be met', () => {
    const needs = demand([1, 'U0BOB', 'U0DAVE'], [2, 'S0LEGAL']);
    const { isApproved, requirements } = evaluateProgress(needs, context({ approvedByIds: ['U0BOB'] }));
    expect(isApproved).toBe(false);
    expect(missingOf(requirements)).toEqual([0, 1]);
    expect(evaluateProgress(needs, context({ approvedByIds: ['U0BOB', 'U0CAROL'] })).isApproved).toBe(true);
  });

  test('by the requester don’t count unless that is allowed', () => {
    const needs = demand([1, 'U0ANNA', 'U0BOB']);
    const own = { approvedByIds: ['U0ANNA'] };
    expect(evaluateProgress(needs, context(own)).isApproved).toBe(false);
    expect(evaluateProgress(needs, context({ ...own, allowSelfApproval: true })).isApproved).toBe(true);
    const again = { approvedByIds: ['U0BOB'], requesters: new Set(['U0ANNA', 'U0BOB']) };
    expect(evaluateProgress(needs, context(again)).isApproved).toBe(false);
  });

  test('by people who have left or are unknown don’t count', () => {
    const membership = new Map(EVERYONE.membership).set('U0BOB', 'left');
    membership.delete('U0CAROL');
    const { requirements } = evaluateProgress(
      demand([1, 'S0LEGAL']),
      context({ approvedByIds: ['U0BOB', 'U0CAROL'], with: { membership } }),
    );
    expect(requirements[0]?.slots).toEqual([]);
  });

  test('by members of an unreadable group don’t count', () => {
    const { requirements } = evaluateProgress(
      demand([1, 'S0LEGAL', 'U0DAVE']),
      context({ approvedByIds: ['U0BOB'], with: { groups: new Map() } }),
    );
    expect(requirements[0]?.slots).toEqual([]);
  });

  test('aren’t needed for a free order, and can’t approve a refused one', () => {
    expect(evaluateProgress({ ...demand(), outcome: 'free' }, context({})).isApproved).toBe(true);
    expect(evaluateProgress({ ...demand(), outcome: 'refuse' }, context({})).isApproved).toBe(false);
    expect(evaluateProgress(demand(), context({})).isApproved).toBe(false);
  });
});

describe('a stand-in', () => {
  const needs = demand([1, 'U0BOB', 'U0DAVE']);
  const carolForBob = away(['U0BOB', 'U0CAROL']);

  test('approves for the absent person, and is recorded as their stand-in', () => {
    const { isApproved, requirements } = evaluateProgress(
      needs,
      context({ approvedByIds: ['U0CAROL'], with: carolForBob }),
    );
    expect(isApproved).toBe(true);
    expect(requirements[0]?.slots).toEqual([{ userId: 'U0CAROL', standsInFor: 'U0BOB' }]);
  });

  test.each<[string, Partial<ProgressContext> & { readonly with: Partial<PeopleFacts> }]>([
    ['doesn’t count after the end time', { with: away(['U0BOB', 'U0CAROL', NOW]) }],
    ['can’t have a stand-in', { with: away(['U0BOB', 'U0EVE'], ['U0EVE', 'U0CAROL']) }],
    ['can only replace approvers', { with: away(['U0EVE', 'U0CAROL']) }],
    ['never approves their own request', { with: carolForBob, requesters: new Set(['U0CAROL']) }],
    [
      'never approves their own request, even if that is allowed',
      { with: carolForBob, requesters: new Set(['U0CAROL']), allowSelfApproval: true },
    ],
    ['never approves the absent person’s request', { with: carolForBob, requesters: new Set(['U0BOB']) }],
    [
      'doesn’t count after leaving',
      { with: { ...carolForBob, membership: new Map(EVERYONE.membership).set('U0CAROL', 'left') } },
    ],
    [
      'can’t replace a person who has left',
      { with: { ...carolForBob, membership: new Map(EVERYONE.membership).set('U0BOB', 'left') } },
    ],
  ])('%s', (_name, fields) => {
    const progress = evaluateProgress(needs, context({ ...fields, approvedByIds: ['U0CAROL'] }));
    expect(progress.isApproved).toBe(false);
  });

  test('and the absent person count as one approval', () => {
    const both = context({ approvedByIds: ['U0CAROL', 'U0BOB'], with: carolForBob });
    expect(evaluateProgress(demand([2, 'U0BOB', 'U0DAVE']), both).isApproved).toBe(false);
  });

  test('for two people counts as one approval', () => {
    const forBoth = away(['U0BOB', 'U0CAROL'], ['U0DAVE', 'U0CAROL']);
    const needsBoth = demand([2, 'U0BOB', 'U0DAVE']);
    expect(
      evaluateProgress(needsBoth, context({ approvedByIds: ['U0CAROL'], with: forBoth })).isApproved,
    ).toBe(false);
    const withBob = context({ approvedByIds: ['U0CAROL', 'U0BOB'], with: forBoth });
    expect(evaluateProgress(needsBoth, withBob).isApproved).toBe(true);
  });

  test('counts as themselves if they’re an approver too', () => {
    const { requirements } = evaluateProgress(
      demand([2, 'U0BOB', 'U0CAROL']),
      context({ approvedByIds: ['U0CAROL'], with: carolForBob }),
    );
    expect(requirements[0]?.slots).toEqual([{ userId: 'U0CAROL', standsInFor: undefined }]);
  });
});

const requirement = fc
  .tuple(fc.integer({ min: 1, max: 3 }), approverIds(1))
  .map(([needed, approvers]) => [needed, ...approvers] as const);
const needs = fc.array(requirement, { minLength: 1, maxLength: 3 }).map((all) => demand(...all));
const standIns = fc
  .array(
    fc.tuple(fc.constantFrom(...PEOPLE), fc.constantFrom(...PEOPLE), fc.constantFrom(LATER, LATER, NOW)),
    { maxLength: 5 },
  )
  .map((entries) => new Map(entries.map(([who, userId, until]) => [who, { userId, until }])));
const membership = fc
  .tuple(...PEOPLE.map(() => fc.constantFrom('member', 'member', 'member', 'left', undefined)))
  .map(
    (states) =>
      new Map(
        PEOPLE.flatMap((userId, index) => {
          const state = states[index];
          return state === undefined ? [] : [[userId, state] as const];
        }),
      ),
  );
const contexts: fc.Arbitrary<ProgressContext> = fc.record({
  requesters: people.map((list) => new Set<string>(list.slice(0, 2))),
  approvedByIds: fc.array(fc.constantFrom(...PEOPLE), { maxLength: 6 }),
  signers: fc.constant(new Set<string>()),
  people: fc.record({ groups, membership, standIns }),
  allowSelfApproval: fc.boolean(),
  now: fc.constant(NOW),
});

/**
 * The policy's rule in its simplest form: each of `needed` different slots can be assigned to a different person who
 * approved and may fill it.
 */
function isAllowed(approvers: readonly string[], needed: number, world: ProgressContext): boolean {
  const { people: known, requesters, allowSelfApproval } = world;
  const slotOwners = new Set(
    approvers.flatMap((id) => (id.startsWith('S') ? [...(known.groups.get(id) ?? [])] : [id])),
  );
  const isMember = (userId: string) => known.membership.get(userId) === 'member';
  const canFill = (userId: string, slotOwner: string) => {
    if (!isMember(userId) || !isMember(slotOwner)) return false;
    if (userId === slotOwner) return allowSelfApproval || !requesters.has(userId);
    const standIn = known.standIns.get(slotOwner);
    if (standIn === undefined || standIn.userId !== userId || standIn.until.getTime() <= NOW.getTime())
      return false;
    return !requesters.has(userId) && !requesters.has(slotOwner);
  };
  const canAssign = (voters: readonly string[], free: readonly string[], left: number): boolean => {
    if (left <= 0) return true;
    const [voter, ...others] = voters;
    if (voter === undefined) return false;
    return (
      canAssign(others, free, left) ||
      free.some(
        (slotOwner) =>
          canFill(voter, slotOwner) &&
          canAssign(
            others,
            free.filter((each) => each !== slotOwner),
            left - 1,
          ),
      )
    );
  };
  return canAssign([...new Set(world.approvedByIds)], [...slotOwners], needed);
}

describe('for random people and approvals', () => {
  test('stand-ins never make an approval possible that the policy forbids', () => {
    fc.assert(
      fc.property(needs, contexts, (order, world) => {
        if (!evaluateProgress(order, world).isApproved) return;
        for (const { approvers, needed } of order.list) {
          expect(isAllowed(approvers, needed, world)).toBe(true);
        }
      }),
      { numRuns: runs(10_000) },
    );
  });

  test('without stand-ins, everything that the policy allows is approved', () => {
    fc.assert(
      fc.property(needs, contexts, (order, any) => {
        const world = { ...any, people: { ...any.people, standIns: new Map() } };
        const allowed = order.list.every(({ approvers, needed }) => isAllowed(approvers, needed, world));
        expect(evaluateProgress(order, world).isApproved).toBe(allowed);
      }),
      { numRuns: runs(3_000) },
    );
  });

  test('the requester never approves alone unless that is allowed', () => {
    fc.assert(
      fc.property(needs, contexts, (order, any) => {
        const approvedByIds = any.approvedByIds.filter((userId) => any.requesters.has(userId));
        const world = { ...any, approvedByIds, allowSelfApproval: false };
        expect(evaluateProgress(order, world).isApproved).toBe(false);
      }),
      { numRuns: runs(5_000) },
    );
  });

  test('a stricter requirement never makes an order approved', () => {
    const narrower = fc.constantFrom('add', 'raise', 'narrow', 'refuse');
    fc.assert(
      fc.property(needs, contexts, narrower, requirement, fc.nat(), (order, world, how, extra, at) => {
        const before = order.list;
        const index = at % before.length;
        const changed: Requirements = {
          ...order,
          outcome: how === 'refuse' ? 'refuse' : order.outcome,
          list:
            how === 'add'
              ? [...before, ...demand(extra).list]
              : before.map((each, position) => {
                  if (position !== index) return each;
                  if (how === 'raise') return { ...each, needed: each.needed + 1 };
                  return how === 'narrow' ? { ...each, approvers: each.approvers.slice(1) } : each;
                }),
        };
        if (evaluateProgress(changed, world).isApproved) {
          expect(evaluateProgress(order, world).isApproved).toBe(true);
        }
      }),
      { numRuns: runs(5_000) },
    );
  });

  test('another approval never increases what is missing', () => {
    fc.assert(
      fc.property(needs, contexts, fc.constantFrom(...PEOPLE), (order, world, userId) => {
        const more = { ...world, approvedByIds: [...world.approvedByIds, userId] };
        const missing = missingOf(evaluateProgress(order, world).requirements);
        const left = missingOf(evaluateProgress(order, more).requirements);
        for (const [index, count] of left.entries()) expect(count).toBeLessThanOrEqual(missing[index] ?? 0);
      }),
      { numRuns: runs(5_000) },
    );
  });

  test('the order of approvals doesn’t matter', () => {
    fc.assert(
      fc.property(needs, contexts, (order, world) => {
        const backwards = { ...world, approvedByIds: world.approvedByIds.toReversed() };
        expect(evaluateProgress(order, backwards).isApproved).toBe(evaluateProgress(order, world).isApproved);
      }),
      { numRuns: runs(3_000) },
    );
  });

  test('an unreadable group never makes an order approved', () => {
    fc.assert(
      fc.property(needs, contexts, fc.constantFrom(...GROUPS), (order, world, group) => {
        const fewer = new Map(world.people.groups);
        fewer.delete(group);
        const withoutGroup = { ...world, people: { ...world.people, groups: fewer, standIns: new Map() } };
        const withGroup = { ...world, people: { ...world.people, standIns: new Map() } };
        if (evaluateProgress(order, withoutGroup).isApproved) {
          expect(evaluateProgress(order, withGroup).isApproved).toBe(true);
        }
      }),
      { numRuns: runs(3_000) },
    );
  });
});
