import pg from 'pg';
import { expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';

/* Lists that don't fit in a message have pages. Forms show if they leave out names of the list. */

let databaseUrl = '';
const t = useTestDemo({
  databaseUrl: (url) => {
    databaseUrl = url;
    return url;
  },
});
const getLatestReply = () => {
  const message = t.alice.ephemerals().at(-1);
  if (message === undefined) throw new Error('no message');
  return message;
};

test('the pages of `/domain orders pending` have every pending order', async () => {
  const names = Array.from({ length: 45 }, (_, n) => `page${n}.rest`);
  for (const name of names) await t.alice.command(DOMAINS, `/domain renew ${name}`);
  let text = await readCommandReply(t.workspace, t.alice, '/domain orders pending');
  for (const range of ['1–20 of 45', '21–40 of 45', '41–45 of 45']) {
    expect(text).toContain(range);
    if (!buttonsOf(getLatestReply()).includes('orders_next')) break;
    const before = getLatestReply();
    await t.alice.click(before, 'orders_next');
    text += await t.workspace.waitFor(
      () => (textOf(getLatestReply()).includes(range) ? undefined : textOf(getLatestReply())),
      { what: 'the next page' },
    );
  }
  for (const name of names) expect(text).toContain(name);
});

test('the list of incidents opened from Home has every open incident', async () => {
  const changes = JSON.stringify([
    {
      ...{ kind: 'lock', fact: 'statuses', before: ['locked'], after: ['active'], orders: [] },
      ...Object.fromEntries(
        ['beforeLastSeenAt', 'afterFirstSeenAt', 'noticedAt'].map((at) => [at, '2026-01-01T00:00:00Z']),
      ),
    },
  ]);
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  await database.query(
    `INSERT INTO incidents (team_id, id, name, version, state, opened_at, changes)
     SELECT $1, 'in' || n, 'taken' || n || '.rest', 1, 'open', now(), $2::jsonb FROM generate_series(1, 23) n`,
    [t.workspace.teamId, changes],
  );
  await database.end();
  await t.bob.openHome();
  const home = await t.workspace.waitFor(
    () => {
      const view = t.bob.homeView();
      return view !== undefined && textOf(view).includes(':rotating_light: 20 more open incidents.')
        ? view
        : undefined;
    },
    { what: 'incidents on Home' },
  );
  const getLatestMessage = () => t.workspace.messages('D0BOB').at(-1);
  await t.bob.click(home, 'incidents_all');
  let text = '';
  for (const range of ['1–10 of 23', '11–20 of 23', '21–23 of 23']) {
    const page = await t.workspace.waitFor(
      () => {
        const message = getLatestMessage();
        return message !== undefined && textOf(message).includes(range) ? message : undefined;
      },
      { what: `the incidents ${range}` },
    );
    text += textOf(page);
    if (buttonsOf(page).includes('incidents_next')) await t.bob.click(page, 'incidents_next');
  }
  for (let n = 1; n <= 23; n += 1) expect(text).toContain(`/domain name taken${n}.rest`);
});

test('forms for many names open in a valid state and show how many names they leave out', async () => {
  const names = Array.from({ length: 120 }, (_, n) => `form${n}.example`);
  const csvLines = names.map((name) => `${name},2027-03-01`);
  await t.demo.bot.expiry.importNames(
    csvLines.join('\n'),
    (changes) => t.demo.bot.protectedChanges.changeReminders(changes, 'U0ALICE', { channelId: '' }),
    async () => undefined,
  );
  await readCommandReply(t.workspace, t.alice, '/domain names form');
  const editForm = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.click(getLatestReply(), 'names_edit'),
  );
  expect(textOf(editForm)).toContain('This form has the first 100 of 120 names.');
  await readCommandReply(t.workspace, t.alice, '/domain names form');
  const renewalForm = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.click(getLatestReply(), 'names_renew'),
  );
  expect(textOf(renewalForm)).toContain('These are the first 100 of 120 names. An order can have at most 50');
  expect(await t.alice.submit(renewalForm, {})).not.toMatchObject({ outcome: 'errors' });
});
