import { expect, test } from 'vitest';
import { ACTIONS, COMMANDS, FORMS } from '../../src/slack/index.ts';
import { DOMAINS, deliverInteraction, textOf, useTestDemo } from '../support/demo.ts';

/*
 * Every command, action and form declares the permission it needs. People without the permission try each of
 * them.
 */

// The tests send more commands per minute than one person may.
const t = useTestDemo({ rateLimits: false });

/** A person of another workspace, and a member and an admin without linked accounts. */
const [STRANGER, MEMBER, ADMIN] = ['U0DAVE', 'U0CAROL', 'U0ADA'];

const REFUSAL_TEXTS = {
  member: /Only members of this workspace/,
  admin: /Only admins can do this/,
  account: /You have no linked account yet/,
} as const;
const ANY_REFUSAL = new RegExp(
  Object.values(REFUSAL_TEXTS)
    .map(({ source }) => source)
    .join('|'),
);

const FEATURES = [
  ...[...COMMANDS.values()].map(({ name, needs }) => ({ kind: 'command', id: name, needs }) as const),
  ...[...ACTIONS.values()].map(({ id, needs }) => ({ kind: 'action', id, needs }) as const),
  ...[...FORMS.values()].map(({ form, needs }) => ({ kind: 'form', id: form.name, needs }) as const),
];
type Feature = (typeof FEATURES)[number];

let attempts = 0;

/** Uses a command, action or form. @returns the reply */
async function tryFeature(userId: string, { kind, id }: Feature): Promise<string> {
  const person = t.workspace.as(userId);
  const before = person.ephemerals().length;
  const viewCount = person.openedViews().length;
  attempts += 1;
  const trigger = `${attempts}.permissions`;
  if (kind === 'command') await person.command(DOMAINS, `/domain ${id}`);
  else {
    const common = {
      trigger_id: trigger,
      team: { id: t.workspace.teamId },
      user: { id: userId, team_id: userId === STRANGER ? 'T0OTHER' : t.workspace.teamId },
    };
    const answer = await deliverInteraction(
      t,
      kind === 'action'
        ? {
            ...common,
            type: 'block_actions',
            channel: { id: DOMAINS },
            actions: [{ type: 'button', action_id: id, block_id: 'b', action_ts: trigger, value: 'none' }],
          }
        : {
            ...common,
            type: 'view_submission',
            view: {
              id: `V${attempts}`,
              type: 'modal',
              callback_id: id,
              private_metadata: JSON.stringify({ channelId: DOMAINS }),
              state: { values: {} },
            },
          },
    );
    if (kind === 'form') return JSON.stringify(answer);
  }
  return t.workspace.waitFor(
    () => {
      const message = person.ephemerals()[before];
      if (message !== undefined) return textOf({ blocks: message.blocks });
      return person.openedViews().length > viewCount ? 'a form' : undefined;
    },
    { what: `a reply to ${userId} for ${kind} ${id}` },
  );
}

test.each(FEATURES.filter(({ needs }) => needs !== 'nothing'))(
  '$kind $id is refused to strangers',
  async (row) => {
    expect(await tryFeature(STRANGER, row)).toMatch(REFUSAL_TEXTS.member);
  },
);

test.each(FEATURES.filter(({ needs }) => needs === 'admin'))('$kind $id needs an admin', async (row) => {
  expect(await tryFeature(MEMBER, row)).toMatch(REFUSAL_TEXTS.admin);
});

test.each(FEATURES.filter(({ needs }) => needs === 'linked' || needs === 'account'))(
  '$kind $id needs an account',
  async (row) => {
    expect(await tryFeature(MEMBER, row)).toMatch(REFUSAL_TEXTS.account);
  },
);

test.each(
  FEATURES.filter(({ kind, needs }) => kind === 'command' && (needs === 'member' || needs === 'nothing')),
)('$kind $id works for every member', async (row) => {
  expect(await tryFeature(MEMBER, row)).not.toMatch(ANY_REFUSAL);
});

test.each(FEATURES.filter(({ kind, needs }) => kind === 'command' && needs === 'admin'))(
  '$kind $id works for an admin',
  async (row) => {
    expect(await tryFeature(ADMIN, row)).not.toMatch(ANY_REFUSAL);
  },
);

test('the permissions match the recorded list', async () => {
  const lines = FEATURES.map(({ kind, id, needs }) => `${needs}: ${kind} ${id}`).toSorted();
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('../fixtures/permissions.txt');
});
