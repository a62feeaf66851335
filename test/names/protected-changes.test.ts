import { expect, test } from 'vitest';
import type { NewProposal } from '../../src/approvals/proposals/proposal.ts';
import type { Incident } from '../../src/names/incident.ts';
import type { NameDetails, ReminderDecision } from '../../src/names/portfolio.ts';
import { createProtectedChanges } from '../../src/names/protected-changes.ts';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { hoursLater, newOrder, START } from '../orders/sample.ts';
import { newPolicyRule } from '../policy/sample.ts';
import { contextWith } from '../support/context.ts';
import { namesContextWith } from '../support/names-context.ts';
import { newTeamSettings } from '../support/settings.ts';

const NAME = 'cafe.rest';
const ORIGIN = { channelId: 'C0DOMAINS', threadTs: '1.2' };
const DETAILS: NameDetails = { owner: 'U0OLA', tags: [], channel: undefined, note: undefined };

interface World {
  readonly rules?: readonly PolicyRule[];
  readonly details?: Partial<NameDetails>;
  readonly parentTags?: readonly string[];
  readonly hasIncident?: boolean;
  readonly hasOrder?: boolean;
}

const INCIDENT: Incident = {
  ...{ id: 'i1', name: NAME, version: 1, state: 'open', openedAt: START, changes: [], overAt: undefined },
  ...{ proposedExplanation: undefined, explanation: undefined, raisedBy: undefined, channelId: undefined },
};
const PROPOSED = {
  ...({ id: 'p1', hash: '', confirmations: [], endedBy: undefined, version: 1, state: 'proposed' } as const),
  ...{ subject: undefined, expiresAt: undefined, origin: undefined },
};

/** Records what is written and proposed, and the open proposals that are looked up. `cafe.rest` is watched. */
function arrange({ rules = [], details = {}, parentTags = [], ...has }: World = {}) {
  const written: string[] = [];
  const proposed: NewProposal[] = [];
  const found: string[] = [];
  const now = () => START;
  const watched = new Map([[NAME, { ...DETAILS, ...details }]]);
  const settings = newTeamSettings({ approvers: ['U0BOB'], approvalTtlMs: 3_600_000 });
  const tags = rules.flatMap(({ names }) => names.flatMap((name) => name.split('tag:')[1] ?? []));
  const context = contextWith({
    ...{ now, loadSettings: async () => settings },
    policy: {
      loadCurrentPolicy: async () => ({
        version: 1,
        rules,
        isCharterMissing: false,
        tags,
        charterProblem: undefined,
      }),
    },
    store: {
      list: async ({ name }) => (name === NAME && has.hasOrder === true ? [newOrder([NAME])] : []),
    },
    names: namesContextWith({
      now,
      portfolio: {
        findMany: async (names) => new Map([...watched].filter(([name]) => names.includes(name))),
        findTags: async (names) =>
          new Map(names.map((name) => [name, name === 'cafe.rest' ? parentTags : ['brand']])),
        write: async ({ changes }) => {
          written.push(...changes.map(({ name, after }) => `${name} ${after?.owner ?? 'nobody'}`));
          return 'written';
        },
      },
      budgets: { list: async () => [] },
      incidents: { listOpen: async () => (has.hasIncident === true ? [INCIDENT] : []) },
      proposals: {
        propose: async (proposal: NewProposal) => {
          proposed.push(proposal);
          return { ...PROPOSED, ...proposal };
        },
        find: async (kinds, key) => {
          found.push(`${kinds.join()} ${key}`);
          return undefined;
        },
      },
    }),
  });
  return { changes: createProtectedChanges(context), written, proposed, found };
}
const BRAND = newPolicyRule({ name: 'brand', names: ['tag:brand'], approvers: ['U0LEGAL'] });

test.each<[string, string, World, kind: string]>([
  ['a name', NAME, {}, 'unwatched'],
  ['a name that isn’t watched', 'other.rest', {}, 'not_watched'],
  ['a name with an open incident', NAME, { hasIncident: true }, 'waiting'],
  ['a name with an open order', NAME, { hasOrder: true }, 'waiting'],
  ['a name with a rule’s tag', NAME, { rules: [BRAND], details: { tags: ['brand'] } }, 'waiting'],
])('unwatching %s', async (_, name, world, kind) => {
  const { changes, written, proposed } = arrange(world);
  expect(await changes.unwatch(name, 'U0ALICE', ORIGIN)).toMatchObject({ kind });
  expect(written).toEqual(kind === 'unwatched' ? [`${NAME} nobody`] : []);
  expect(proposed).toHaveLength(kind === 'waiting' ? 1 : 0);
});

test('a proposal expires like an approval', async () => {
  const { changes, proposed } = arrange({ hasIncident: true });
  await changes.unwatch(NAME, 'U0ALICE', ORIGIN);
  expect(proposed).toMatchObject([{ proposedAt: START, expiresAt: hoursLater(1), origin: ORIGIN }]);
});

test('a change of a subdomain’s tags takes its parents’ tags into account', async () => {
  const SUBDOMAIN = 'www.cafe.rest';
  const free = newPolicyRule({ name: 'free', names: ['tag:free'], decision: 'free', approvers: [] });
  const change = async (parentTags: readonly string[]) => {
    const { changes } = arrange({ rules: [free], parentTags });
    const names = [{ name: SUBDOMAIN, before: DETAILS, after: { ...DETAILS, tags: ['free'] } }];
    return changes.findConfirmers({
      ...{ ...PROPOSED, kind: 'lapse', payload: { names }, proposer: 'U0ALICE', proposedAt: START },
    });
  };
  expect(await change([])).toMatchObject([{ approvers: ['U0BOB'] }]);
  expect(await change(['free'])).toBe('another_person');
});

test.each<[kind: 'facts' | 'lapse', hasIncident: boolean, expected: string | readonly object[]]>([
  ['facts', false, [{ approvers: ['U0BOB'], needed: 1 }]],
  ['facts', true, [{ approvers: ['U0BOB'], needed: 1 }]],
  ['lapse', false, 'another_person'],
  ['lapse', true, [{ approvers: ['U0BOB'], needed: 1 }]],
])('the confirmers of a %s proposal, with an incident: %s', async (kind, hasIncident, expected) => {
  const { changes } = arrange({ hasIncident });
  const names = [{ name: NAME, before: DETAILS, after: undefined }];
  const proposal = { ...PROPOSED, payload: { names }, proposer: 'U0ALICE', proposedAt: START };
  const confirmers = await changes.findConfirmers({ ...proposal, kind });
  if (typeof expected === 'string') expect(confirmers).toBe(expected);
  else expect(confirmers).toMatchObject(expected);
});

test.each<[ReminderDecision, found: string[]]>([
  [{ kind: 'name_watched' }, [`lapse ${NAME}`]],
  [{ kind: 'name_kept' }, [`lapse ${NAME}`]],
  [{ kind: 'name_snoozed', until: START }, []],
])('a lapse is withdrawn if the name is watched or kept: %o', async (decision, expected) => {
  const { changes, found, proposed } = arrange();
  await changes.changeReminders([{ name: NAME, decision }], 'U0ALICE', ORIGIN);
  expect(found).toEqual(expected);
  expect(proposed).toEqual([]);
});

test('a requested lapse becomes a proposal with its reason and origin', async () => {
  const { changes, proposed } = arrange();
  const decision = { kind: 'lapse_requested', reason: 'unused', origin: ORIGIN } as const;
  await changes.changeReminders([{ name: NAME, decision }], 'U0ALICE', ORIGIN);
  const lapse = { kind: 'lapse_confirmed', reason: 'unused', askedBy: 'U0ALICE', origin: ORIGIN };
  expect(proposed).toMatchObject([{ kind: 'lapse', subject: NAME }]);
  expect(proposed[0]?.payload).toEqual({
    names: [{ name: NAME, before: DETAILS, after: DETAILS, decision: lapse }],
  });
});

test.each([
  [{ name: NAME, owner: 'U0NINA' }, [`${NAME} U0NINA`]],
  [{ name: NAME }, [`${NAME} U0OLA`]],
  [{ name: 'new.rest', isNew: true }, ['new.rest nobody']],
  [{ name: 'other.rest' }, []],
] as const)('a reminder’s change keeps or replaces the owner: %o', async (change, expected) => {
  const { changes, written } = arrange();
  await changes.changeReminders([change], 'U0ALICE', ORIGIN);
  expect(written).toEqual(expected);
});
