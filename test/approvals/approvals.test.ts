import { describe, expect, test } from 'vitest';
import {
  evaluateProgress,
  type People,
  type Progress,
  type ProgressContext,
} from '../../src/approvals/progress.ts';
import type { Requirements } from '../../src/policy/evaluate.ts';
import { GROUPS, groups, ids, PEOPLE, people } from '../policy/arbitraries.ts';
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

const EVERYBODY: People = {
  groups: new Map([['S0LEGAL', new Set(['U0BOB', 'U0CAROL'])]]),
  membership: new Map(PEOPLE.map((userId) => [userId, 'member'])),
  standIns: new Map(),
};

function context(fields: Partial<ProgressContext> & { readonly with?: Partial<People> }): ProgressContext {
  return {
    requesters: new Set(['U0ANNA']),
    approvals: [],
    signers: new Set(),
    people: { ...EVERYBODY, ...fields.with },
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
  test('of listed people and of members of listed groups count', () => {
    const needs = demand([2, 'U0DAVE', 'S0LEGAL']);
    const one = evaluateProgress(needs, context({ approvals: ['U0BOB', 'U0BOB', 'U0EVE'] }));
    expect(one.isApproved).toBe(false);
    expect(one.requirements[0]?.slots).toEqual([{ userId: 'U0BOB', standsInFor: undefined }]);
    expect(evaluateProgress(needs, context({ approvals: ['U0BOB', 'U0DAVE'] })).isApproved).toBe(true);
  });

  test('of one person count for several requirements, and all must be met', () => {
    const needs = demand([1, 'U0BOB', 'U0DAVE'], [2, 'S0LEGAL']);
    const { isApproved, requirements } = evaluateProgress(needs, context({ approvals: ['U0BOB'] }));
    expect(isApproved).toBe(false);
    expect(missingOf(requirements)).toEqual([0, 1]);
    expect(evaluateProgress(needs, context({ approvals: ['U0BOB', 'U0CAROL'] })).isApproved).toBe(true);
  });

  test('of the requester don’t count unless that is allowed', () => {
    const needs = demand([1, 'U0ANNA', 'U0BOB']);
    const own = { approvals: ['U0ANNA'] };
    expect(evaluateProgress(needs, context(own)).isApproved).toBe(false);
    expect(evaluateProgress(needs, context({ ...own, allowSelfApproval: true })).isApproved).toBe(true);
    const again = { approvals: ['U0BOB'], requesters: new Set(['U0ANNA', 'U0BOB']) };
    expect(evaluateProgress(needs, context(again)).isApproved).toBe(false);
  });

  test('of people who have left or are unknown don’t count', () => {
    const membership = new Map(EVERYBODY.membership).set('U0BOB', 'left');
    membership.delete('U0CAROL');
    const { requirements } = evaluateProgress(
      demand([1, 'S0LEGAL']),
      context({ approvals: ['U0BOB', 'U0CAROL'], with: { membership } }),
    );
    expect(requirements[0]?.slots).toEqual([]);
  });

  test('of members of an unreadable group don’t count', () => {
    const { requirements } = evaluateProgress(
      demand([1, 'S0LEGAL', 'U0DAVE']),
      context({ approvals: ['U0BOB'], with: { groups: new Map() } }),
    );
    expect(requirements[0]?.slots).toEqual([]);
  });

  test('an order without requirements is approved, a refused one never is', () => {
    expect(evaluateProgress({ ...demand(), outcome: 'free' }, context({})).isApproved).toBe(true);
    expect(evaluateProgress({ ...demand(), outcome: 'refuse' }, context({})).isApproved).toBe(false);
    expect(evaluateProgress(demand(), context({})).isApproved).toBe(false);
  });
});

describe('a stand-in', () => {
  const needs = demand([1, 'U0BOB', 'U0DAVE']);
  const carolForBob = away(['U0BOB', 'U0CAROL']);

  test('approves for the absent person, and is named as their stand-in', () => {
    const { isApproved, requirements } = evaluateProgress(
      needs,
      context({ approvals: ['U0CAROL'], with: carolForBob }),
    );
    expect(isApproved).toBe(true);
    expect(requirements[0]?.slots).toEqual([{ userId: 'U0CAROL', standsInFor: 'U0BOB' }]);
  });

  test.each<[string, Partial<ProgressContext> & { readonly with: Partial<People> }]>([
    ['ends by itself', { with: away(['U0BOB', 'U0CAROL', NOW]) }],
    ['is never passed on', { with: away(['U0BOB', 'U0EVE'], ['U0EVE', 'U0CAROL']) }],
    ['replaces only approvers', { with: away(['U0EVE', 'U0CAROL']) }],
    ['never approves their own request', { with: carolForBob, requesters: new Set(['U0CAROL']) }],
    [
      'never approves their own request, even if that is allowed',
      { with: carolForBob, requesters: new Set(['U0CAROL']), allowSelfApproval: true },
    ],
    ['never approves the absent person’s request', { with: carolForBob, requesters: new Set(['U0BOB']) }],
    [
      'is a member',
      { with: { ...carolForBob, membership: new Map(EVERYBODY.membership).set('U0CAROL', 'left') } },
    ],
    [
      'replaces members',
      { with: { ...carolForBob, membership: new Map(EVERYBODY.membership).set('U0BOB', 'left') } },
    ],
  ])('%s', (_name, fields) => {
    const progress = evaluateProgress(needs, context({ ...fields, approvals: ['U0CAROL'] }));
    expect(progress.isApproved).toBe(false);
  });

  test('counts as one approval with the absent person', () => {
    const both = context({ approvals: ['U0CAROL', 'U0BOB'], with: carolForBob });
    expect(evaluateProgress(demand([2, 'U0BOB', 'U0DAVE']), both).isApproved).toBe(false);
  });

  test('for two people counts as one approval', () => {
    const forBoth = away(['U0BOB', 'U0CAROL'], ['U0DAVE', 'U0CAROL']);
    const needsBoth = demand([2, 'U0BOB', 'U0DAVE']);
    expect(evaluateProgress(needsBoth, context({ approvals: ['U0CAROL'], with: forBoth })).isApproved).toBe(
      false,
    );
    const withBob = context({ approvals: ['U0CAROL', 'U0BOB'], with: forBoth });
    expect(evaluateProgress(needsBoth, withBob).isApproved).toBe(true);
  });

  test('who is an approver counts as themself', () => {
    const { requirements } = evaluateProgress(
      demand([2, 'U0BOB', 'U0CAROL']),
      context({ approvals: ['U0CAROL'], with: carolForBob }),
    );
    expect(requirements[0]?.slots).toEqual([{ userId: 'U0CAROL', standsInFor: undefined }]);
  });
});

/* Random people, requirements and approvals. */

const requirement = fc
  .tuple(fc.integer({ min: 1, max: 3 }), ids(1))
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
  approvals: fc.array(fc.constantFrom(...PEOPLE), { maxLength: 6 }),
  signers: fc.constant(new Set<string>()),
  people: fc.record({ groups, membership, standIns }),
  allowSelfApproval: fc.boolean(),
  now: fc.constant(NOW),
});

/**
 * The policy's rule in its simplest form: each of `needed` different slots can be assigned to a different person who
 * approved and may fill it.
 */
function allows(approvers: readonly string[], needed: number, world: ProgressContext): boolean {
  const { people: known, requesters, allowSelfApproval } = world;
  const seats = new Set(
    approvers.flatMap((id) => (id.startsWith('S') ? [...(known.groups.get(id) ?? [])] : [id])),
  );
  const members = (userId: string) => known.membership.get(userId) === 'member';
  const mayHave = (userId: string, seat: string) => {
    if (!members(userId) || !members(seat)) return false;
    if (userId === seat) return allowSelfApproval || !requesters.has(userId);
    const standIn = known.standIns.get(seat);
    if (standIn === undefined || standIn.userId !== userId || standIn.until.getTime() <= NOW.getTime())
      return false;
    return !requesters.has(userId) && !requesters.has(seat);
  };
  const place = (voters: readonly string[], free: readonly string[], left: number): boolean => {
    if (left <= 0) return true;
    const [voter, ...others] = voters;
    if (voter === undefined) return false;
    return (
      place(others, free, left) ||
      free.some(
        (seat) =>
          mayHave(voter, seat) &&
          place(
            others,
            free.filter((each) => each !== seat),
            left - 1,
          ),
      )
    );
  };
  return place([...new Set(world.approvals)], [...seats], needed);
}

describe('for random people and approvals', () => {
  test('no stand-in makes an approval possible that the policy forbids', () => {
    fc.assert(
      fc.property(needs, contexts, (order, world) => {
        if (!evaluateProgress(order, world).isApproved) return;
        for (const { approvers, needed } of order.list) {
          expect(allows(approvers, needed, world)).toBe(true);
        }
      }),
      { numRuns: runs(10_000) },
    );
  });

  test('without stand-ins, everything that the policy allows is approved', () => {
    fc.assert(
      fc.property(needs, contexts, (order, any) => {
        const world = { ...any, people: { ...any.people, standIns: new Map() } };
        const allowed = order.list.every(({ approvers, needed }) => allows(approvers, needed, world));
        expect(evaluateProgress(order, world).isApproved).toBe(allowed);
      }),
      { numRuns: runs(3_000) },
    );
  });

  test('the requester never approves alone unless that is allowed', () => {
    fc.assert(
      fc.property(needs, contexts, (order, any) => {
        const approvals = any.approvals.filter((userId) => any.requesters.has(userId));
        const world = { ...any, approvals, allowSelfApproval: false };
        expect(evaluateProgress(order, world).isApproved).toBe(false);
      }),
      { numRuns: runs(5_000) },
    );
  });

  test('only removing or reducing a requirement makes an order need less', () => {
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

  test('another approval never takes anything back', () => {
    fc.assert(
      fc.property(needs, contexts, fc.constantFrom(...PEOPLE), (order, world, userId) => {
        const more = { ...world, approvals: [...world.approvals, userId] };
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
        const backwards = { ...world, approvals: world.approvals.toReversed() };
        expect(evaluateProgress(order, backwards).isApproved).toBe(evaluateProgress(order, world).isApproved);
      }),
      { numRuns: runs(3_000) },
    );
  });

  test('unreadable groups never help', () => {
    fc.assert(
      fc.property(needs, contexts, fc.constantFrom(...GROUPS), (order, world, group) => {
        const fewer = new Map(world.people.groups);
        fewer.delete(group);
        const blind = { ...world, people: { ...world.people, groups: fewer, standIns: new Map() } };
        const seeing = { ...world, people: { ...world.people, standIns: new Map() } };
        if (evaluateProgress(order, blind).isApproved) {
          expect(evaluateProgress(order, seeing).isApproved).toBe(true);
        }
      }),
      { numRuns: runs(3_000) },
    );
  });
});
