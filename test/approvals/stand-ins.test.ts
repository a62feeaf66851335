import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { approveOrder } from '../../src/approvals/approve.ts';
import { readPeople } from '../../src/approvals/approvers.ts';
import { approvalProgress, type GivenApprovals, type StandIn } from '../../src/approvals/progress.ts';
import type { Directory, Membership } from '../../src/orders/ports.ts';
import type { Requirements } from '../../src/policy/evaluate.ts';
import { HOUR_MS, type Rig, startRig } from '../orders/rig.ts';
import { GROUPS, groups, ids, PEOPLE, people } from '../policy/arbitraries.ts';
import fc, { runs } from '../support/properties.ts';

/*
 * No stand-in makes an approval possible that the policy forbids: random rules, people and stand-ins, decided by the
 * use case itself.
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
const requirement = fc.record({ needed: fc.integer({ min: 1, max: 3 }), approvers: ids(1) });
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

function demandOf({ requirements }: Pick<World, 'requirements'>): Requirements {
  return {
    outcome: 'approve',
    requirements: requirements.map((each, index) => ({
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

/** Slack, as in a world. */
function directoryOf({ groups: known, memberships: all }: World): Directory {
  return {
    membership: async (userId) => all.get(userId) ?? 'unknown',
    membersOf: async (group) => (known.has(group) ? [...(known.get(group) ?? [])] : undefined),
  };
}

/** The simplest form: each needed slot is assigned to another person who may fill it. */
function allows(
  { approvers, needed }: World['requirements'][number],
  all: World,
  requesters: ReadonlySet<string>,
): boolean {
  const seats = [
    ...new Set(approvers.flatMap((id) => (id.startsWith('S') ? [...(all.groups.get(id) ?? [])] : [id]))),
  ];
  const isMember = (userId: string) => all.memberships.get(userId) === 'member';
  const mayHave = (userId: string, seat: string) => {
    if (!isMember(userId) || !isMember(seat)) return false;
    if (userId === seat) return all.allowSelfApproval || !requesters.has(userId);
    const standIn = all.standIns.get(seat);
    if (standIn?.userId !== userId || standIn.until.getTime() <= NOW.getTime()) return false;
    return !requesters.has(userId) && !requesters.has(seat);
  };
  const place = (voters: readonly string[], free: readonly string[], left: number): boolean => {
    const [voter, ...others] = voters;
    if (left <= 0) return true;
    if (voter === undefined) return false;
    const taken = (seat: string) =>
      place(
        others,
        free.filter((each) => each !== seat),
        left - 1,
      );
    return place(others, free, left) || free.some((seat) => mayHave(voter, seat) && taken(seat));
  };
  return place([...new Set(all.approvals)], seats, needed);
}

test('reading only the approvers’ groups decides like knowing everything', async () => {
  await fc.assert(
    fc.asyncProperty(world, async (all) => {
      const demand = demandOf(all);
      const base: Omit<GivenApprovals, 'people'> = {
        requesters: new Set(all.requesters),
        approvals: all.approvals,
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
      const { people: read } = await readPeople(
        { directory: directoryOf(all), away: all.standIns, at: NOW },
        demand.requirements,
        all.approvals,
      );
      const expected = approvalProgress(demand, { ...base, people: everything });
      const found = approvalProgress(demand, { ...base, people: read });
      expect(found.isApproved).toBe(expected.isApproved);
      expect(found.requirements.map(({ counted }) => new Set(counted.map(({ userId }) => userId)))).toEqual(
        expected.requirements.map(({ counted }) => new Set(counted.map(({ userId }) => userId))),
      );
    }),
    { numRuns: runs(2_000) },
  );
});

describe('through the use case', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig();
  });
  beforeEach(() => rig.reset());
  afterAll(() => rig.end());

  test('an order is approved only if everyone who counts has their own slot', async () => {
    const seen = { approved: 0, waiting: 0 };
    await fc.assert(
      fc.asyncProperty(world, fc.constantFrom(...PEOPLE), async (all, asker) => {
        await rig.reset();
        rig.setTeam({ allowSelfApproval: all.allowSelfApproval });
        rig.groups.clear();
        for (const id of GROUPS) {
          const members = all.groups.get(id);
          if (members !== undefined) rig.groups.set(id, [...members]);
        }
        const names = all.requirements.map((_, index) => `name${index}.rest`);
        rig.setPolicy(
          1,
          ...all.requirements.map((each, index) => ({
            decision: 'approve' as const,
            names: [names[index] ?? ''],
            ...each,
          })),
        );
        for (const [userId, standIn] of all.standIns) await rig.standIns.begin(userId, standIn, NOW);
        const order = await rig.ask('renew', { names, period: 1 }, { requesterId: asker });
        for (const [userId, known] of all.memberships) {
          // Without its requesters no order is sent, even if it was approved.
          if (known !== 'member' && userId !== asker) rig.absent.set(userId, known);
        }
        for (const userId of all.approvals) await approveOrder(rig.orders, order.id, userId);
        const { state } = await rig.read(order.id);
        if (state !== 'APPROVED') {
          expect(state).toBe('PENDING');
          seen.waiting += 1;
          return;
        }
        seen.approved += 1;
        const present = { ...all, memberships: new Map(all.memberships).set(asker, 'member' as const) };
        for (const each of all.requirements) expect(allows(each, present, new Set([asker]))).toBe(true);
      }),
      { numRuns: 40 },
    );
    expect(seen.waiting).toBeGreaterThan(0);
    expect(seen.approved).toBeGreaterThan(0);
  });
});
