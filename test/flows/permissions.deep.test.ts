import { expect, test } from 'vitest';
import { ACTIONS, COMMANDS, FORMS } from '../../src/slack/index.ts';
import { DOMAINS, sendSigned, textOf, useTestDemo } from '../support/demo.ts';

/*
 * Every command, action and form declares its permission: each is tried by a person without it, and by a
 * member without an account.
 */

// The tests send more commands per minute than one person may.
const t = useTestDemo({ rateLimits: false });

/** Of another workspace; a member without an account; an admin without an account. */
const [STRANGER, MEMBER, ADMIN] = ['U0DAVE', 'U0CAROL', 'U0ADA'];

const REFUSALS = {
  member: /Only members of this workspace/,
  admin: /Only admins can do this/,
  account: /You have no linked account yet/,
} as const;
const REFUSED = new RegExp(
  Object.values(REFUSALS)
    .map(({ source }) => source)
    .join('|'),
);

const ROWS = [
  ...[...COMMANDS.values()].map(({ name, needs }) => ({ kind: 'command', id: name, needs }) as const),
  ...[...ACTIONS.values()].map(({ id, needs }) => ({ kind: 'action', id, needs }) as const),
  ...[...FORMS.values()].map(({ form, needs }) => ({ kind: 'form', id: form.name, needs }) as const),
];
type Row = (typeof ROWS)[number];

let attempts = 0;

/** Uses a feature. @returns the reply */
async function answerTo(userId: string, { kind, id }: Row): Promise<string> {
  const person = t.workspace.as(userId);
  const before = person.ephemerals().length;
  const views = person.openedViews().length;
  attempts += 1;
  const trigger = `${attempts}.permissions`;
  if (kind === 'command') await person.command(DOMAINS, `/domain ${id}`);
  else {
    const common = {
      trigger_id: trigger,
      team: { id: t.workspace.teamId },
      user: { id: userId, team_id: userId === STRANGER ? 'T0OTHER' : t.workspace.teamId },
    };
    const answer = await sendSigned(
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
      return person.openedViews().length > views ? 'a form' : undefined;
    },
    { what: `a reply to ${userId} for ${kind} ${id}` },
  );
}

test.each(ROWS.filter(({ needs }) => needs !== 'nothing'))(
  '$kind $id is refused to strangers',
  async (row) => {
    expect(await answerTo(STRANGER, row)).toMatch(REFUSALS.member);
  },
);

test.each(ROWS.filter(({ needs }) => needs === 'admin'))('$kind $id needs an admin', async (row) => {
  expect(await answerTo(MEMBER, row)).toMatch(REFUSALS.admin);
});

test.each(ROWS.filter(({ needs }) => needs === 'linked' || needs === 'account'))(
  '$kind $id needs an account',
  async (row) => {
    expect(await answerTo(MEMBER, row)).toMatch(REFUSALS.account);
  },
);

test.each(
  ROWS.filter(({ kind, needs }) => kind === 'command' && (needs === 'member' || needs === 'nothing')),
)('$kind $id works for every member', async (row) => {
  expect(await answerTo(MEMBER, row)).not.toMatch(REFUSED);
});

test.each(ROWS.filter(({ kind, needs }) => kind === 'command' && needs === 'admin'))(
  '$kind $id works for an admin',
  async (row) => {
    expect(await answerTo(ADMIN, row)).not.toMatch(REFUSED);
  },
);

test('the permissions match the recorded list', async () => {
  const lines = ROWS.map(({ kind, id, needs }) => `${needs}: ${kind} ${id}`).toSorted();
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('../fixtures/permissions.txt');
});
