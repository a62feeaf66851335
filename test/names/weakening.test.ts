import { describe, expect, test } from 'vitest';
import type { ActiveMandate } from '../../src/mandates/mandate.ts';
import type { ChangedName } from '../../src/names/portfolio.ts';
import {
  createRequirementFinder,
  mergeAllRequirements,
  type Protection,
  separateChanges,
} from '../../src/names/weakening.ts';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { rule } from '../policy/sample.ts';
import { newTeamSettings } from '../support/settings.ts';

/* Cases: tag removed, added, swapped, parent’s; rule by tag, zone, name, `*`, task, `by`, `over`; shadowed */

const BRAND = rule({
  name: 'brand',
  tasks: ['transfer', 'delete'],
  names: ['tag:brand'],
  approvers: ['U0LEGAL', 'U0CFO'],
  needed: 2,
  signed: true,
});

function protection(rules: readonly PolicyRule[], more: Partial<Protection> = {}): Protection {
  return {
    settings: newTeamSettings({ approvers: ['U0BOB'], approvalTasks: ['renew', 'delete'] }),
    policy: {
      ...{ version: 1, rules, isCharterMissing: false, charterProblem: undefined },
      tags: rules.flatMap(({ names }) =>
        names.flatMap((name) => (name.startsWith('tag:') ? [name.slice(4)] : [])),
      ),
    },
    budgetTags: new Set(),
    mandates: [],
    parentTags: new Map(),
    busyNames: new Set(),
    ...more,
  };
}
const details = (tags: readonly string[]) => ({
  owner: undefined,
  tags,
  channel: undefined,
  note: undefined,
});
const tags = (before: readonly string[], after: readonly string[]): ChangedName => ({
  name: 'cafe.rest',
  before: details(before),
  after: details(after),
});
const unwatch = (before: readonly string[] = []): ChangedName => ({ ...tags(before, []), after: undefined });
/** `2 of U0LEGAL,U0CFO signed` for each requirement; undefined if the change takes effect at once. */
const needs = (change: ChangedName, given: Protection, by = 'U0ALICE') =>
  createRequirementFinder(given)(change, by)?.map(
    ({ needed, approvers, signed }) => `${needed} of ${approvers}${signed ? ' signed' : ''}`,
  );
const LEGAL = ['2 of U0LEGAL,U0CFO signed'];
const ANYONE = ['1 of U0BOB'];

describe('a changed tag', () => {
  test('needs its rule’s full requirements', () => {
    expect(needs(tags(['brand'], []), protection([BRAND]))).toEqual(LEGAL);
    expect(needs(tags(['brand', 'x'], ['x', 'y']), protection([BRAND]))).toEqual(LEGAL);
  });

  test('needs the requirements of the rules before and after', () => {
    const weak = rule({ name: 'weak', tasks: ['all'], names: ['tag:weak'], approvers: ['U0CAROL'] });
    expect(needs(tags(['brand'], ['weak']), protection([weak, BRAND]))).toEqual(
      expect.arrayContaining([...LEGAL, '1 of U0CAROL']),
    );
  });

  test('needs the approvers of the settings if no rule has approvers', () => {
    const loose = rule({ names: ['tag:loose'], tasks: ['all'], decision: 'free', approvers: [] });
    const given = protection([loose], { settings: newTeamSettings({ approvalsRequired: 2 }) });
    expect(needs(tags([], ['loose']), given)).toEqual(['2 of U0BOB']);
  });

  test('takes effect at once if it strengthens protection, or changes nothing', () => {
    expect(needs(tags([], ['brand']), protection([BRAND]))).toBeUndefined();
    expect(needs(tags(['x'], ['y', 'guarded']), protection([BRAND]))).toBeUndefined();
  });

  test.each<[string, PolicyRule[]]>([
    ['by requester', [rule({ names: ['tag:loose'], by: ['S0SALES'], decision: 'free', approvers: [] })]],
    [
      'over an amount',
      [
        rule({
          names: ['tag:loose'],
          over: { currency: 'EUR', minor: 100 },
          decision: 'free',
          approvers: [],
        }),
      ],
    ],
    ['by task', [rule({ names: ['tag:loose'], tasks: ['renew'], decision: 'free', approvers: [] })]],
  ])('needs confirmation even if it weakens only some orders: %s', (_, rules) => {
    expect(needs(tags([], ['loose']), protection(rules))).toBeDefined();
  });

  test.each<[string, Partial<PolicyRule>, boolean]>([
    ['fewer approvals', { needed: 1 }, true],
    ['no signatures', { signed: false }, true],
    ['other approvers', { approvers: ['U0LEGAL', 'U0CAROL'] }, true],
    ['the same requirements', {}, false],
    ['more approvals', { needed: 3 }, false],
    ['fewer approvers', { approvers: ['U0LEGAL'] }, false],
  ])('needs confirmation only if the new rule is weaker: %s', (_, change, isWeaker) => {
    const moved = rule({ ...BRAND, name: 'moved', names: ['tag:moved'], ...change });
    const given = protection([moved, { ...BRAND, names: ['*'] }]);
    expect(needs(tags([], ['moved']), given) !== undefined).toBe(isWeaker);
  });

  test('from the settings to a rule with other approvers takes effect at once', () => {
    const named = rule({ names: ['tag:named'], tasks: ['renew', 'delete'], approvers: ['U0CAROL'] });
    expect(needs(tags([], ['named']), protection([named]))).toBeUndefined();
  });

  test('needs a signature before the first charter', () => {
    const given = protection([]);
    const unsigned = { ...given, policy: { ...given.policy, isCharterMissing: true } };
    expect(needs(tags(['guarded'], []), unsigned)).toEqual(['1 of U0BOB signed']);
  });

  test('needs one other person: guarded removed, a budget, a shadowed rule', () => {
    const refuse = rule({ tasks: ['all'], names: ['*'], decision: 'refuse', approvers: [] });
    expect(needs(tags(['guarded'], []), protection([]))).toEqual(ANYONE);
    expect(needs(tags(['brand'], []), protection([refuse, BRAND]))).toEqual(ANYONE);
    for (const change of [tags(['ads'], []), tags([], ['ads'])])
      expect(needs(change, protection([], { budgetTags: new Set(['ads']) }))).toEqual(ANYONE);
  });

  test('that a parent domain also has changes nothing', () => {
    const given = protection(
      [rule({ names: ['tag:loose'], tasks: ['all'], decision: 'free', approvers: [] })],
      {
        parentTags: new Map([['cafe.rest', ['loose']]]),
      },
    );
    expect(needs({ ...tags([], ['loose']), name: 'shop.cafe.rest' }, given)).toBeUndefined();
  });
});

const mandate = (...patterns: string[]) => mandateUnder([], ...patterns);
/** A mandate that was approved under some rules. */
const mandateUnder = (rules: readonly PolicyRule[], ...patterns: string[]) =>
  ({
    order: {
      requirements: { list: rules.map((each) => ({ ...each, rule: { kind: 'rule' }, names: [] })) },
    },
    mandate: {
      patterns: {
        hosts: patterns.filter((each) => !each.startsWith('tag:')),
        tags: patterns.flatMap((each) => (each.startsWith('tag:') ? [each.slice(4)] : [])),
      },
    },
  }) as unknown as ActiveMandate;

describe('a tag that a mandate names', () => {
  const more = rule({ name: 'more', approvers: ['U0CAROL'] });
  test.each<[string, readonly PolicyRule[], readonly string[]]>([
    ['no rule', [], ANYONE],
    ['a rule', [BRAND], ['1 of U0LEGAL,U0CFO signed']],
    ['a signed and an unsigned rule', [BRAND, more], ['1 of U0LEGAL,U0CFO,U0CAROL']],
  ])('needs one of the mandate’s possible approvers under %s', (_, rules, expected) => {
    const given = protection([], { mandates: [mandateUnder(rules, 'tag:ads')] });
    for (const change of [tags(['ads'], []), tags([], ['ads'])])
      expect(needs(change, given)).toEqual(expected);
    expect(needs(tags([], ['other']), given)).toBeUndefined();
  });
});

describe('unwatching', () => {
  test.each<[string, Protection, readonly string[] | undefined]>([
    ['nothing', protection([]), undefined],
    ['a free rule', protection([rule({ names: ['*'], decision: 'free', approvers: [] })]), undefined],
    ['a rule by zone', protection([rule({ names: ['*.rest'], approvers: ['U0LEGAL'] })]), ['1 of U0LEGAL']],
    [
      'a rule by name',
      protection([rule({ names: ['cafe.rest'], approvers: ['U0LEGAL'] })]),
      ['1 of U0LEGAL'],
    ],
    ['a rule of another name', protection([rule({ names: ['bar.rest'] })]), undefined],
    ['a refusing rule', protection([rule({ names: ['*'], decision: 'refuse', approvers: [] })]), ANYONE],
    ['a mandate by zone', protection([], { mandates: [mandate('*.rest')] }), ANYONE],
    ['a mandate of another zone', protection([], { mandates: [mandate('*.example')] }), undefined],
    ['an incident or order', protection([], { busyNames: new Set(['cafe.rest']) }), ANYONE],
  ])('a name covered by %s', (_, given, expected) => {
    expect(needs(unwatch(), given)).toEqual(expected);
  });

  test('a tagged name needs its rule’s requirements', () => {
    expect(needs(unwatch(['brand']), protection([BRAND]))).toEqual(LEGAL);
    expect(needs(unwatch(['ads']), protection([], { mandates: [mandate('tag:ads')] }))).toEqual(ANYONE);
  });
});

describe('a date', () => {
  const [early, late] = [new Date('2027-01-01'), new Date('2028-01-01')];
  const dated = (before: NonNullable<ChangedName['date']>['before'], after: Date): ChangedName => ({
    ...tags([], []),
    date: { before, after },
  });
  test.each([
    ['later than another person’s', dated({ at: early, by: 'U0BOB' }, late), ANYONE],
    ['later than one without a person', dated({ at: early }, late), ANYONE],
    ['later than one’s own', dated({ at: early, by: 'U0ALICE' }, late), undefined],
    ['the same again', dated({ at: late, by: 'U0BOB' }, late), undefined],
    ['earlier', dated({ at: late, by: 'U0BOB' }, early), undefined],
    ['the first', dated(undefined, late), undefined],
  ])('%s', (_, change, expected) => {
    expect(needs(change, protection([]))).toEqual(expected);
  });
});

describe('a lapse', () => {
  const lapse = (names: readonly string[]): ChangedName => ({
    ...tags(names, names),
    decision: { kind: 'lapse_confirmed', reason: 'old', askedBy: 'U0ALICE' },
  });
  test.each<[string, readonly string[], Protection, readonly string[] | undefined]>([
    ['unprotected', [], protection([]), undefined],
    ['counted by a budget', ['ads'], protection([], { budgetTags: new Set(['ads']) }), undefined],
    ['guarded', ['guarded'], protection([]), ANYONE],
    ['mandated', [], protection([], { mandates: [mandate('*.rest')] }), ANYONE],
    ['under a rule', ['brand'], protection([BRAND]), LEGAL],
  ])('of a name that is %s needs the requirements for an order', (_, names, given, expected) => {
    expect(needs(lapse(names), given)).toEqual(expected);
  });

  test('can be requested by one person, and so can a snooze', () => {
    const requested = { kind: 'lapse_requested', reason: 'old' } as const;
    const snoozed = { kind: 'name_snoozed', until: new Date() } as const;
    for (const decision of [requested, snoozed])
      expect(needs({ ...lapse(['brand']), decision }, protection([BRAND]))).toBeUndefined();
  });
});

describe('while no charter is valid', () => {
  const environment = { approvers: ['U0ENV'], silent: [], needed: 2, tasks: ['renew'] };
  const lapsed = (rules: readonly PolicyRule[]) => {
    const given = protection(rules);
    const problem = 'rows_differ' as const;
    return { ...given, policy: { ...given.policy, charterProblem: { problem, environment } } };
  };
  const SIGNED = '2 of U0ENV signed';

  test('a change also needs signed approvals of the environment’s approvers', async () => {
    expect(needs(tags(['brand'], []), lapsed([BRAND]))).toEqual([...LEGAL, SIGNED]);
    expect(needs(tags(['guarded'], []), lapsed([]))).toEqual([SIGNED]);
    const all = await mergeAllRequirements([tags([], [])], 'U0ALICE', lapsed([]));
    expect(all).toMatchObject([{ rule: { kind: 'environment' }, needed: 2, signed: true }]);
  });

  test('a change that weakens nothing takes effect at once', () => {
    expect(needs(tags([], ['brand']), lapsed([BRAND]))).toBeUndefined();
  });
});

test('changes are separated one by one, and the pending ones need all their requirements', async () => {
  const given = protection([BRAND]);
  const other = { ...tags(['guarded'], []), name: 'bar.rest' };
  const { allowed, waiting } = await separateChanges(
    [tags(['brand'], []), tags([], ['x']), other],
    'U0ALICE',
    given,
  );
  expect(allowed.changes.map(({ after }) => after?.tags)).toEqual([['x']]);
  const all = await mergeAllRequirements(waiting, 'U0ALICE', given);
  expect(all.map(({ approvers }) => approvers.join())).toEqual(['U0LEGAL,U0CFO', 'U0BOB']);
});

test('each of many changes needs its own rule’s requirements', async () => {
  const given = protection([BRAND, rule({ name: 'press', names: ['tag:press'], approvers: ['U0PRESS'] })]);
  const harmless = Array.from({ length: 2_000 }, () => tags(['x'], []));
  const changes = [tags(['brand'], []), ...harmless, tags(['press'], [])];
  const all = await mergeAllRequirements(changes, 'U0ALICE', given);
  expect(all.map(({ approvers }) => approvers.join())).toEqual(['U0LEGAL,U0CFO', 'U0PRESS']);
});
