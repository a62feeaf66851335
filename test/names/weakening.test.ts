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
import { newPolicyRule } from '../policy/sample.ts';
import { newTeamSettings } from '../support/settings.ts';

/* Changes that weaken protection need confirmation. Other changes take effect at once. */

const BRAND_RULE = newPolicyRule({
  name: 'brand',
  tasks: ['transfer', 'delete'],
  names: ['tag:brand'],
  approvers: ['U0LEGAL', 'U0CFO'],
  needed: 2,
  signed: true,
});

function createProtection(rules: readonly PolicyRule[], overrides: Partial<Protection> = {}): Protection {
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
    ...overrides,
  };
}
const createDetails = (tags: readonly string[]) => ({
  owner: undefined,
  tags,
  channel: undefined,
  note: undefined,
});
const changeTags = (before: readonly string[], after: readonly string[]): ChangedName => ({
  name: 'cafe.rest',
  before: createDetails(before),
  after: createDetails(after),
});
const unwatchName = (before: readonly string[] = []): ChangedName => ({
  ...changeTags(before, []),
  after: undefined,
});
/** `2 of U0LEGAL,U0CFO signed` for each requirement; undefined if the change takes effect at once. */
const listRequirements = (change: ChangedName, currentProtection: Protection, by = 'U0ALICE') =>
  createRequirementFinder(currentProtection)(change, by)?.map(
    ({ needed, approvers, signed }) => `${needed} of ${approvers}${signed ? ' signed' : ''}`,
  );
const BRAND_REQUIREMENTS = ['2 of U0LEGAL,U0CFO signed'];
const ONE_APPROVER = ['1 of U0BOB'];

describe('a changed tag', () => {
  test('needs its rule’s full requirements', () => {
    expect(listRequirements(changeTags(['brand'], []), createProtection([BRAND_RULE]))).toEqual(
      BRAND_REQUIREMENTS,
    );
    expect(listRequirements(changeTags(['brand', 'x'], ['x', 'y']), createProtection([BRAND_RULE]))).toEqual(
      BRAND_REQUIREMENTS,
    );
  });

  test('needs the requirements of the rules before and after', () => {
    const weak = newPolicyRule({ name: 'weak', tasks: ['all'], names: ['tag:weak'], approvers: ['U0CAROL'] });
    expect(listRequirements(changeTags(['brand'], ['weak']), createProtection([weak, BRAND_RULE]))).toEqual(
      expect.arrayContaining([...BRAND_REQUIREMENTS, '1 of U0CAROL']),
    );
  });

  test('needs the approvers of the settings if no rule has approvers', () => {
    const loose = newPolicyRule({ names: ['tag:loose'], tasks: ['all'], decision: 'free', approvers: [] });
    const currentProtection = createProtection([loose], {
      settings: newTeamSettings({ approvalsRequired: 2 }),
    });
    expect(listRequirements(changeTags([], ['loose']), currentProtection)).toEqual(['2 of U0BOB']);
  });

  test('takes effect at once if it strengthens protection, or changes nothing', () => {
    expect(listRequirements(changeTags([], ['brand']), createProtection([BRAND_RULE]))).toBeUndefined();
    expect(
      listRequirements(changeTags(['x'], ['y', 'guarded']), createProtection([BRAND_RULE])),
    ).toBeUndefined();
  });

  test.each<[string, PolicyRule[]]>([
    [
      'by requester',
      [newPolicyRule({ names: ['tag:loose'], by: ['S0SALES'], decision: 'free', approvers: [] })],
    ],
    [
      'over an amount',
      [
        newPolicyRule({
          names: ['tag:loose'],
          over: { currency: 'EUR', minor: 100 },
          decision: 'free',
          approvers: [],
        }),
      ],
    ],
    ['by task', [newPolicyRule({ names: ['tag:loose'], tasks: ['renew'], decision: 'free', approvers: [] })]],
  ])('needs confirmation even if it weakens only some orders: %s', (_, rules) => {
    expect(listRequirements(changeTags([], ['loose']), createProtection(rules))).toBeDefined();
  });

  test.each<[string, Partial<PolicyRule>, boolean]>([
    ['fewer approvals', { needed: 1 }, true],
    ['no signatures', { signed: false }, true],
    ['other approvers', { approvers: ['U0LEGAL', 'U0CAROL'] }, true],
    ['the same requirements', {}, false],
    ['more approvals', { needed: 3 }, false],
    ['fewer approvers', { approvers: ['U0LEGAL'] }, false],
  ])('needs confirmation only if the new rule is weaker: %s', (_, change, isWeaker) => {
    const newRule = newPolicyRule({ ...BRAND_RULE, name: 'moved', names: ['tag:moved'], ...change });
    const currentProtection = createProtection([newRule, { ...BRAND_RULE, names: ['*'] }]);
    expect(listRequirements(changeTags([], ['moved']), currentProtection) !== undefined).toBe(isWeaker);
  });

  test('takes effect at once if it replaces the approvers of the settings with those of a rule', () => {
    const namedRule = newPolicyRule({
      names: ['tag:named'],
      tasks: ['renew', 'delete'],
      approvers: ['U0CAROL'],
    });
    expect(listRequirements(changeTags([], ['named']), createProtection([namedRule]))).toBeUndefined();
  });

  test('needs a signature before the first charter', () => {
    const currentProtection = createProtection([]);
    const unsigned = {
      ...currentProtection,
      policy: { ...currentProtection.policy, isCharterMissing: true },
    };
    expect(listRequirements(changeTags(['guarded'], []), unsigned)).toEqual(['1 of U0BOB signed']);
  });

  test('needs one approver if it is “guarded”, has a budget, or its rule never applies', () => {
    const refusingRule = newPolicyRule({ tasks: ['all'], names: ['*'], decision: 'refuse', approvers: [] });
    expect(listRequirements(changeTags(['guarded'], []), createProtection([]))).toEqual(ONE_APPROVER);
    expect(listRequirements(changeTags(['brand'], []), createProtection([refusingRule, BRAND_RULE]))).toEqual(
      ONE_APPROVER,
    );
    for (const change of [changeTags(['ads'], []), changeTags([], ['ads'])])
      expect(listRequirements(change, createProtection([], { budgetTags: new Set(['ads']) }))).toEqual(
        ONE_APPROVER,
      );
  });

  test('that a parent domain also has changes nothing', () => {
    const currentProtection = createProtection(
      [newPolicyRule({ names: ['tag:loose'], tasks: ['all'], decision: 'free', approvers: [] })],
      {
        parentTags: new Map([['cafe.rest', ['loose']]]),
      },
    );
    expect(
      listRequirements({ ...changeTags([], ['loose']), name: 'shop.cafe.rest' }, currentProtection),
    ).toBeUndefined();
  });
});

const createMandate = (...patterns: string[]) => createMandateUnderRules([], ...patterns);
/** A mandate that was approved under some rules. */
const createMandateUnderRules = (rules: readonly PolicyRule[], ...patterns: string[]) =>
  ({
    order: {
      requirements: { list: rules.map((each) => ({ ...each, rule: { kind: 'rule' }, names: [] })) },
    },
    mandate: {
      patterns: {
        hostPatterns: patterns.filter((each) => !each.startsWith('tag:')),
        tags: patterns.flatMap((each) => (each.startsWith('tag:') ? [each.slice(4)] : [])),
      },
    },
  }) as unknown as ActiveMandate;

describe('a tag in a mandate', () => {
  const unsignedRule = newPolicyRule({ name: 'more', approvers: ['U0CAROL'] });
  test.each<[string, readonly PolicyRule[], readonly string[]]>([
    ['no rule', [], ONE_APPROVER],
    ['a rule', [BRAND_RULE], ['1 of U0LEGAL,U0CFO signed']],
    ['a signed and an unsigned rule', [BRAND_RULE, unsignedRule], ['1 of U0LEGAL,U0CFO,U0CAROL']],
  ])('needs one of the mandate’s possible approvers if it was approved under %s', (_, rules, expected) => {
    const currentProtection = createProtection([], { mandates: [createMandateUnderRules(rules, 'tag:ads')] });
    for (const change of [changeTags(['ads'], []), changeTags([], ['ads'])])
      expect(listRequirements(change, currentProtection)).toEqual(expected);
    expect(listRequirements(changeTags([], ['other']), currentProtection)).toBeUndefined();
  });
});

describe('unwatching', () => {
  test.each<[string, Protection, readonly string[] | undefined]>([
    ['nothing', createProtection([]), undefined],
    [
      'a free rule',
      createProtection([newPolicyRule({ names: ['*'], decision: 'free', approvers: [] })]),
      undefined,
    ],
    [
      'a rule by zone',
      createProtection([newPolicyRule({ names: ['*.rest'], approvers: ['U0LEGAL'] })]),
      ['1 of U0LEGAL'],
    ],
    [
      'a rule by name',
      createProtection([newPolicyRule({ names: ['cafe.rest'], approvers: ['U0LEGAL'] })]),
      ['1 of U0LEGAL'],
    ],
    ['a rule of another name', createProtection([newPolicyRule({ names: ['bar.rest'] })]), undefined],
    [
      'a refusing rule',
      createProtection([newPolicyRule({ names: ['*'], decision: 'refuse', approvers: [] })]),
      ONE_APPROVER,
    ],
    ['a mandate by zone', createProtection([], { mandates: [createMandate('*.rest')] }), ONE_APPROVER],
    [
      'a mandate of another zone',
      createProtection([], { mandates: [createMandate('*.example')] }),
      undefined,
    ],
    ['an incident or order', createProtection([], { busyNames: new Set(['cafe.rest']) }), ONE_APPROVER],
  ])('needs the requirements that protect the name: %s', (_, currentProtection, expected) => {
    expect(listRequirements(unwatchName(), currentProtection)).toEqual(expected);
  });

  test('a tagged name needs the requirements of its rule or mandate', () => {
    expect(listRequirements(unwatchName(['brand']), createProtection([BRAND_RULE]))).toEqual(
      BRAND_REQUIREMENTS,
    );
    expect(
      listRequirements(unwatchName(['ads']), createProtection([], { mandates: [createMandate('tag:ads')] })),
    ).toEqual(ONE_APPROVER);
  });
});

describe('a changed date', () => {
  const [early, late] = [new Date('2027-01-01'), new Date('2028-01-01')];
  const changeDate = (before: NonNullable<ChangedName['date']>['before'], after: Date): ChangedName => ({
    ...changeTags([], []),
    date: { before, after },
  });
  test.each([
    ['later than another person’s', changeDate({ at: early, by: 'U0BOB' }, late), ONE_APPROVER],
    ['later than one set by an unknown person', changeDate({ at: early }, late), ONE_APPROVER],
    ['later than one’s own', changeDate({ at: early, by: 'U0ALICE' }, late), undefined],
    ['the same date', changeDate({ at: late, by: 'U0BOB' }, late), undefined],
    ['earlier', changeDate({ at: late, by: 'U0BOB' }, early), undefined],
    ['the first date', changeDate(undefined, late), undefined],
  ])('needs confirmation only if it postpones a date that someone else set: %s', (_, change, expected) => {
    expect(listRequirements(change, createProtection([]))).toEqual(expected);
  });
});

describe('a lapse', () => {
  const confirmLapse = (names: readonly string[]): ChangedName => ({
    ...changeTags(names, names),
    decision: { kind: 'lapse_confirmed', reason: 'old', askedBy: 'U0ALICE' },
  });
  test.each<[string, readonly string[], Protection, readonly string[] | undefined]>([
    ['unprotected', [], createProtection([]), undefined],
    ['counted by a budget', ['ads'], createProtection([], { budgetTags: new Set(['ads']) }), undefined],
    ['guarded', ['guarded'], createProtection([]), ONE_APPROVER],
    ['covered by a mandate', [], createProtection([], { mandates: [createMandate('*.rest')] }), ONE_APPROVER],
    ['under a rule', ['brand'], createProtection([BRAND_RULE]), BRAND_REQUIREMENTS],
  ])(
    'of a name that is %s needs the requirements that protect the name',
    (_, names, currentProtection, expected) => {
      expect(listRequirements(confirmLapse(names), currentProtection)).toEqual(expected);
    },
  );

  test('can be requested without confirmation, and so can a snooze', () => {
    const requested = { kind: 'lapse_requested', reason: 'old' } as const;
    const snoozed = { kind: 'name_snoozed', until: new Date() } as const;
    for (const decision of [requested, snoozed])
      expect(
        listRequirements({ ...confirmLapse(['brand']), decision }, createProtection([BRAND_RULE])),
      ).toBeUndefined();
  });
});

describe('while no charter is valid', () => {
  const environment = { approvers: ['U0ENV'], silent: [], needed: 2, tasks: ['renew'] };
  const createProtectionWithoutCharter = (rules: readonly PolicyRule[]) => {
    const currentProtection = createProtection(rules);
    const problem = 'rows_differ' as const;
    return {
      ...currentProtection,
      policy: { ...currentProtection.policy, charterProblem: { problem, environment } },
    };
  };
  const ENVIRONMENT_REQUIREMENT = '2 of U0ENV signed';

  test('a change also needs signed approvals of the environment’s approvers', async () => {
    expect(listRequirements(changeTags(['brand'], []), createProtectionWithoutCharter([BRAND_RULE]))).toEqual(
      [...BRAND_REQUIREMENTS, ENVIRONMENT_REQUIREMENT],
    );
    expect(listRequirements(changeTags(['guarded'], []), createProtectionWithoutCharter([]))).toEqual([
      ENVIRONMENT_REQUIREMENT,
    ]);
    const all = await mergeAllRequirements(
      [changeTags([], [])],
      'U0ALICE',
      createProtectionWithoutCharter([]),
    );
    expect(all).toMatchObject([{ rule: { kind: 'environment' }, needed: 2, signed: true }]);
  });

  test('a change that weakens nothing takes effect at once', () => {
    expect(
      listRequirements(changeTags([], ['brand']), createProtectionWithoutCharter([BRAND_RULE])),
    ).toBeUndefined();
  });
});

test('harmless changes are allowed, and the others need the requirements of each', async () => {
  const currentProtection = createProtection([BRAND_RULE]);
  const guardedChange = { ...changeTags(['guarded'], []), name: 'bar.rest' };
  const { allowed, changesToConfirm } = await separateChanges(
    [changeTags(['brand'], []), changeTags([], ['x']), guardedChange],
    'U0ALICE',
    currentProtection,
  );
  expect(allowed.changes.map(({ after }) => after?.tags)).toEqual([['x']]);
  const all = await mergeAllRequirements(changesToConfirm, 'U0ALICE', currentProtection);
  expect(all.map(({ approvers }) => approvers.join())).toEqual(['U0LEGAL,U0CFO', 'U0BOB']);
});

test('each of many changes needs its own rule’s requirements', async () => {
  const currentProtection = createProtection([
    BRAND_RULE,
    newPolicyRule({ name: 'press', names: ['tag:press'], approvers: ['U0PRESS'] }),
  ]);
  const harmless = Array.from({ length: 2_000 }, () => changeTags(['x'], []));
  const changes = [changeTags(['brand'], []), ...harmless, changeTags(['press'], [])];
  const all = await mergeAllRequirements(changes, 'U0ALICE', currentProtection);
  expect(all.map(({ approvers }) => approvers.join())).toEqual(['U0LEGAL,U0CFO', 'U0PRESS']);
});
