import { expect, test } from 'vitest';
import { loadPeople } from '../../src/approvals/approvers.ts';
import { evaluateProgress, type ProgressContext, type StandIn } from '../../src/approvals/progress.ts';
import type { Directory, Membership } from '../../src/orders/ports.ts';
import type { Requirements } from '../../src/policy/evaluate.ts';
import { HOUR_MS } from '../orders/rig.ts';
import { approverIds, groups, PEOPLE, people } from '../policy/arbitraries.ts';
import fc, { runs } from '../support/properties.ts';

/*
 * Random rules, people and stand-ins: reading only what the use case needs gives the same decision as reading everything.
 */

const NOW = new Date('2026-03-01T09:00:00Z');
const LATER = new Date(NOW.getTime() + HOUR_MS);

const standIns = fc
  .array(
    fc.tuple(fc.constantFrom(...PEOPLE), fc.constantFrom(...PEOPLE), fc.constantFrom(LATER, LATER, NOW)),
    { maxLength: 5 },
  )
  .map(
    (entries) => new Map<string, StandIn>(entries.map(([who, userId, until]) => [who, { userId, until }])),
  );
const memberships = fc
  .tuple(
    ...PEOPLE.map(() =>
      fc.constantFrom<Membership[]>('member', 'member', 'member', 'member', 'left', 'unknown'),
    ),
  )
  .map((all) => new Map<string, Membership>(PEOPLE.map((userId, n) => [userId, all[n] ?? 'unknown'])));
const requirement = fc.record({ needed: fc.integer({ min: 1, max: 3 }), approvers: approverIds(1) });
interface World {
  readonly requirements: readonly { readonly needed: number; readonly approvers: readonly string[] }[];
  readonly groups: ReadonlyMap<string, ReadonlySet<string>>;
  readonly memberships: ReadonlyMap<string, Membership>;
  readonly standIns: ReadonlyMap<string, StandIn>;
  readonly approvals: readonly string[];
  readonly requesters: readonly string[];
  readonly allowSelfApproval: boolean;
}
const world: fc.Arbitrary<World> = fc.record({
  requirements: fc.array(requirement, { minLength: 1, maxLength: 2 }),
  groups,
  memberships,
  standIns,
  approvals: fc.array(fc.constantFrom(...PEOPLE), { minLength: 1, maxLength: 6 }),
  requesters: people.map((list) => list.slice(0, 2)),
  allowSelfApproval: fc.boolean(),
});

function buildRequirements({ requirements }: Pick<World, 'requirements'>): Requirements {
  return {
    outcome: 'approve',
    list: requirements.map((each, index) => ({
      ...each,
      rule: { kind: 'rule', version: 1, index, name: `rule ${index}` },
      names: ['cafe.rest'],
      silent: [],
      signed: false,
    })),
    refusedBy: [],
    ttlMs: HOUR_MS,
    remindAfterMs: HOUR_MS,
    escalateAfterMs: HOUR_MS,
    escalateTo: [],
    escalateToAdmins: true,
    breakGlass: false,
  };
}

/** Slack's answers in a world. */
function directoryOf({ groups: known, memberships: all }: World): Directory {
  return {
    findMembership: async (userId) => all.get(userId) ?? 'unknown',
    listGroupMembers: async (group) => (known.has(group) ? [...(known.get(group) ?? [])] : undefined),
  };
}

test('reading only the approvers’ groups gives the same decision as reading everything', async () => {
  await fc.assert(
    fc.asyncProperty(world, async (all) => {
      const required = buildRequirements(all);
      const base: Omit<ProgressContext, 'people'> = {
        requesters: new Set(all.requesters),
        approvedByIds: all.approvals,
        signers: new Set(),
        allowSelfApproval: all.allowSelfApproval,
        now: NOW,
      };
      const membership = new Map(
        [...all.memberships].flatMap(([userId, known]) =>
          known === 'unknown' ? [] : [[userId, known] as const],
        ),
      );
      const everything = { groups: all.groups, membership, standIns: all.standIns };
      const { people: read } = await loadPeople(
        { directory: directoryOf(all), standIns: all.standIns },
        required.list,
        all.approvals,
      );
      const expected = evaluateProgress(required, { ...base, people: everything });
      const found = evaluateProgress(required, { ...base, people: read });
      expect(found.isApproved).toBe(expected.isApproved);
      expect(found.requirements.map(({ slots }) => new Set(slots.map(({ userId }) => userId)))).toEqual(
        expected.requirements.map(({ slots }) => new Set(slots.map(({ userId }) => userId))),
      );
    }),
    { numRuns: runs(2_000) },
  );
});
