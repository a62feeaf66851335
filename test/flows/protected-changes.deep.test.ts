import type { Actor, Message } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { rule } from '../policy/sample.ts';
import {
  actAndReadReply,
  actUntilOpened,
  buttonsOf,
  DOMAINS,
  openForm,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { expectFormClosed } from '../support/people.ts';

/* Every way to weaken a name's protection needs confirmation, as the affected rules require. */

let rules: readonly PolicyRule[] = [];
const t = useTestDemo({
  policy: { current: async () => ({ version: 3, rules }) },
});
const REMINDERS = 'C0EXPIRY';
const LEGAL = rule({
  name: 'legal',
  tasks: ['transfer', 'delete'],
  names: ['tag:brand'],
  approvers: ['U0CAROL'],
});
beforeEach(() => {
  rules = [LEGAL];
});

const send = (line: string, person: Actor = t.alice) =>
  readCommandReply(t.workspace, person, `/domain ${line}`);
const tagsOf = async (name: string) =>
  [...((await send(`name ${name}`)).match(/\*Tags\* ([^\n]*)/)?.[1] ?? '').matchAll(/`([^`]+)`/g)].map(
    ([, tag]) => tag,
  );

async function watchWithTags(name: string, tags: string): Promise<void> {
  rules = [];
  await send(`watch ${name}`);
  await edit(t.alice, name, { tags });
  await t.workspace.waitFor(async () => ((await tagsOf(name)).join() === tags ? true : undefined), {
    what: `the tags of ${name}`,
  });
  rules = [LEGAL];
}

async function edit(
  person: Actor,
  name: string,
  values: Readonly<Record<string, string | string[]>>,
): Promise<string> {
  await send(`name ${name}`, person);
  const screen = person.ephemerals().findLast((each) => buttonsOf(each).includes('name_edit'));
  if (screen === undefined) throw new Error(`${name} was not shown`);
  const form = await actUntilOpened(t.workspace, person, () => person.click(screen, 'name_edit'));
  return actAndReadReply(t.workspace, person, async () =>
    expectFormClosed(await person.submit(form, values)),
  );
}

async function bulkEdit(person: Actor, name: string): Promise<string> {
  await send(`names ${name}`, person);
  const list = person.ephemerals().at(-1);
  if (list === undefined) throw new Error('no list');
  const form = await actUntilOpened(t.workspace, person, () => person.click(list, 'names_edit'));
  return actAndReadReply(t.workspace, person, async () =>
    expectFormClosed(await person.submit(form, { names: [name], tags: '-brand' })),
  );
}

async function importCsv(person: Actor, rows: string): Promise<string> {
  const form = await openForm(t.workspace, person, '/domain names import');
  const before = person.ephemerals().length;
  await person.submit(form, { rows });
  const plan = await t.workspace.waitFor(
    () =>
      person
        .ephemerals()
        .slice(before)
        .find((each) => buttonsOf(each).includes('names_import_apply')),
    { what: 'the plan' },
  );
  return actAndReadReply(t.workspace, person, () => person.click(plan, 'names_import_apply'));
}

async function watchMany(person: Actor, names: string): Promise<string> {
  const form = await openForm(t.workspace, person, '/domain import');
  return actAndReadReply(t.workspace, person, async () =>
    expectFormClosed(await person.submit(form, { names })),
  );
}

/** The confirmation request for the latest change of a name. */
const currentQuestion = (name: string, channel = DOMAINS): Promise<Message> =>
  t.workspace.waitFor(
    () =>
      t.workspace
        .messages(channel)
        .findLast((each) => buttonsOf(each).includes('facts_dismiss') && textOf(each).includes(name)),
    { what: `the confirmation request for ${name}` },
  );
const clickConfirm = (person: Actor, question: Message) =>
  actAndReadReply(t.workspace, person, () => person.click(question, 'facts_confirm'));

/** Ways to remove a name's protection. */
const PATHS = [
  ['the command', (person, name) => send(`unwatch ${name}`, person)],
  ['the form', (person, name) => edit(person, name, { tags: '' })],
  ['the bulk edit', bulkEdit],
  ['the file', (person, name) => importCsv(person, `name,tags\n${name},`)],
] as const satisfies readonly (readonly [string, (person: Actor, name: string) => Promise<string>])[];

test.each([
  ...PATHS.map(([path, act]) => [path, 'alice', act] as const),
  ['the command', 'carol', PATHS[0][1]] as const,
])('by %s, a change by %s needs confirmation from an approver in the rule', async (path, who, act) => {
  const name = `${path.replace(/\W/g, '')}-${who}.rest`;
  await watchWithTags(name, 'brand');
  expect(await act(t[who], name)).toContain('Another person must confirm this change');
  expect(await tagsOf(name)).toEqual(['brand']);
  const question = await currentQuestion(name);
  expect(await clickConfirm(t.bob, question)).toContain('Only <@U0CAROL> can');
  if (who === 'carol') return expect(await clickConfirm(t.carol, question)).toContain('You requested this');
  await t.carol.click(question, 'facts_confirm');
  await t.workspace.waitFor(async () => ((await tagsOf(name)).length === 0 ? true : undefined), {
    what: 'the confirmed change',
  });
});

/** Requests to let a name lapse, as from a digest, and waits for the confirmation request. */
async function requestLapse(name: string): Promise<Message> {
  const place = { channelId: DOMAINS };
  const { expiry, protectedChanges } = t.demo.bot;
  const asked = await expiry.requestLapse({ name, reason: 'not needed', origin: place }, (changes) =>
    protectedChanges.changeReminders(changes, 'U0ALICE', place),
  );
  expect(asked).toMatchObject({ ok: true });
  await send(`name ${name}`);
  return t.workspace.waitFor(
    () =>
      t.workspace
        .messages(DOMAINS)
        .findLast((each) => buttonsOf(each).includes('lapse_confirm') && textOf(each).includes(name)),
    { what: `the request about ${name}` },
  );
}
const findLapse = async (name: string) => (await t.demo.bot.expiry.find(name))?.lapse?.confirmed;

test('letting a name with a rule lapse needs confirmation from the rule’s approvers', async () => {
  await watchWithTags('lapse.rest', 'brand');
  const request = await requestLapse('lapse.rest');
  const confirm = (person: Actor) =>
    actAndReadReply(t.workspace, person, () => person.click(request, 'lapse_confirm'));
  expect(await confirm(t.alice)).toContain('You requested this');
  expect(await confirm(t.bob)).toContain('Only <@U0CAROL> can');
  expect(await findLapse('lapse.rest')).toBeUndefined();
  await t.carol.click(request, 'lapse_confirm');
  await t.workspace.waitFor(
    async () => ((await findLapse('lapse.rest'))?.by === 'U0CAROL' ? true : undefined),
    { what: 'the lapse' },
  );
});

test('a confirmation counts only for the change that was shown', async () => {
  await watchWithTags('shown.rest', 'brand');
  await send('unwatch shown.rest');
  const question = await currentQuestion('shown.rest');
  const [id = ''] = JSON.stringify(question).match(/[0-9a-f]{8}-[0-9a-f-]{27}/) ?? [];
  const given = { userId: 'U0CAROL', shownHash: 'f'.repeat(64) };
  expect(await t.demo.bot.proposals.confirm(['facts'], id, given)).toMatchObject({
    ok: false,
    refusal: { code: 'changed' },
  });
  expect(await tagsOf('shown.rest')).toEqual(['brand']);
  await t.carol.click(question, 'facts_confirm');
  await t.workspace.waitFor(
    async () => ((await t.demo.bot.expiry.find('shown.rest')) === undefined ? true : undefined),
    { what: 'the change' },
  );
});

test('a change needs as many confirmations as the rule requires, from its approvers', async () => {
  await watchWithTags('two.rest', 'brand');
  rules = [{ ...LEGAL, approvers: ['U0ALICE', 'U0BOB', 'U0CAROL'], needed: 2 }];
  await edit(t.alice, 'two.rest', { tags: '' });
  const question = await currentQuestion('two.rest');
  const { proposals } = t.demo.bot;
  const [id = ''] = JSON.stringify(question).match(/[0-9a-f]{8}-[0-9a-f-]{27}/) ?? [];
  const waiting = await proposals.find(['facts'], id);
  if (waiting === undefined) throw new Error('no pending change');
  expect((await proposals.buildSignedSubject(waiting)).binding).toEqual({
    change: id,
    requesters: ['U0ALICE'],
  });
  const confirmations = [{ userId: 'U0BOB' }, { userId: 'U0ALICE' }];
  const [progress] = await proposals.loadProgress({ ...waiting, confirmations });
  expect(
    progress?.slots.map(({ userId }) => userId),
    'confirmations that count, without the requester’s',
  ).toEqual(['U0BOB']);
  await t.bob.click(question, 'facts_confirm');
  await t.workspace.waitFor(
    () =>
      t.workspace
        .messages(DOMAINS)
        .find(({ ts, ...each }) => ts === question.ts && textOf(each).includes('confirmed by <@U0BOB>')),
    { what: 'the first confirmation' },
  );
  await t.bob.click(question, 'facts_confirm');
  expect(await tagsOf('two.rest')).toEqual(['brand']);
  await t.carol.click(question, 'facts_confirm');
  await t.workspace.waitFor(async () => ((await tagsOf('two.rest')).length === 0 ? true : undefined), {
    what: 'the change',
  });
});

test('confirming an outdated change is refused, and the current one is shown', async () => {
  await watchWithTags('moving.rest', 'brand');
  await edit(t.alice, 'moving.rest', { tags: '' });
  const question = await currentQuestion('moving.rest');
  await edit(t.bob, 'moving.rest', { tags: 'brand', note: 'new note' });
  await t.carol.click(question, 'facts_confirm');
  const again = await t.workspace.waitFor(
    () =>
      t.carol
        .ephemerals()
        .findLast(
          (each) =>
            textOf(each).includes('moving.rest*: tags: `brand` → none') &&
            buttonsOf(each).includes('facts_confirm'),
        ),
    { what: 'the current change' },
  );
  expect(await tagsOf('moving.rest')).toEqual(['brand']);
  await t.carol.click(again, 'facts_confirm');
  await t.workspace.waitFor(async () => ((await tagsOf('moving.rest')).length === 0 ? true : undefined), {
    what: 'the change',
  });
});

test('a date later than another person’s needs confirmation; one’s own date doesn’t', async () => {
  expect(await send('watch dated.test 2027-05-01')).not.toContain('confirmation');
  expect(await send('watch dated.test 2027-06-01')).not.toContain('confirmation');
  expect(await send('watch dated.test 2027-05-01', t.bob)).not.toContain('confirmation');
  // Bob's earlier date doesn't make the later one his own.
  expect(await send('watch dated.test 2027-07-01', t.bob)).toContain(
    'Another person must confirm this change',
  );
  expect(await send('watch dated.test 2028-05-01')).toContain('Another person must confirm this change');
  expect(await watchMany(t.alice, 'dated.test, 2028-06-01')).toContain('1 date waiting for confirmation');
  expect((await t.demo.bot.expiry.find('dated.test'))?.expiry?.at).toEqual(new Date('2027-05-01'));
  await t.carol.click(await currentQuestion('dated.test'), 'facts_confirm');
  await t.workspace.waitFor(
    async () =>
      (await t.demo.bot.expiry.find('dated.test'))?.expiry?.at.getUTCFullYear() === 2028 ? true : undefined,
    { what: 'the confirmed date' },
  );
  const far = `${new Date().getUTCFullYear() + 11}-01-01`;
  expect(await send(`watch dated.test ${far}`)).toContain('more than 10 years ahead');
  expect(await watchMany(t.alice, `far.test, ${far}`)).toContain('more than 10 years ahead');
});

test('a new owner or channel takes effect immediately and is announced in the reminder channel', async () => {
  await watchWithTags('routed.rest', '');
  await edit(t.alice, 'routed.rest', { channel: 'C0GENERAL', owner: 'U0BOB' });
  const notice = await t.workspace.waitFor(
    () => t.workspace.messages(REMINDERS).findLast((each) => textOf(each).includes(':mailbox_with_mail:')),
    { what: 'the announcement' },
  );
  expect(textOf(notice)).toMatch(
    /<@U0ALICE> changed the owner and channel of 1 name.*routed\.rest.*owner: none → <@U0BOB>; channel: none → <#C0GENERAL>/s,
  );
});

test('a pending change and its result are announced in the reminder channel', async () => {
  await watchWithTags('told.rest', 'brand');
  await edit(t.alice, 'told.rest', { tags: '' });
  const waitForNotice = (text: string) =>
    t.workspace.waitFor(
      () =>
        t.workspace
          .messages(REMINDERS)
          .find((each) => textOf(each).includes('told.rest') && textOf(each).includes(text)),
      { what: text },
    );
  expect(buttonsOf(await waitForNotice('It needs confirmation'))).toEqual([]);
  await t.carol.click(await currentQuestion('told.rest'), 'facts_confirm');
  await waitForNotice('<@U0CAROL> confirmed');
});

/** Adds names like an import. No lookup of them is due. */
async function addNames(count: number, label: string, tags: readonly string[]): Promise<void> {
  const db = new pg.Client({ connectionString: t.databaseUrl });
  await db.connect();
  try {
    await db.query(
      `INSERT INTO domains (name, added_by, added_at, next_dns_lookup_at, next_registry_lookup_at, last_lookup_at, tags, team_id, urgent)
       SELECT $2 || '-' || n || '.example', 'U0ALICE', now(), now() + interval '10 years', now() + interval '10 years',
         now(), $3, $4, false FROM generate_series(0, $1 - 1) AS n`,
      [count, label, tags, t.workspace.teamId],
    );
  } finally {
    await db.end();
  }
}

test('at most 1,000 names can be guarded, by form, file or pending change', async () => {
  const { protectedChanges, expiry } = t.demo.bot;
  const place = { channelId: DOMAINS };
  await watchWithTags('freed.rest', 'brand');
  await watchWithTags('beyond.rest', '');
  const waiting = await protectedChanges.change(
    new Map([['freed.rest', { tags: ['guarded'] }]]),
    'U0ALICE',
    place,
  );
  expect(waiting).toMatchObject({ changedNames: [] });
  await addNames(1_000, 'guarded', ['guarded']);
  const full = 'at most 1,000 names can be tagged `guarded`';
  expect(await edit(t.alice, 'beyond.rest', { tags: 'guarded' })).toContain(full);
  expect(await importCsv(t.alice, 'name,tags\nbeyond.rest,guarded')).toContain(full);
  expect(await tagsOf('beyond.rest')).toEqual([]);
  expect(await clickConfirm(t.carol, await currentQuestion('freed.rest'))).toContain(full);
  expect(await tagsOf('freed.rest')).toEqual(['brand']);
  await protectedChanges.change(
    new Map([['guarded-0.example', { removeTags: ['guarded'] }]]),
    'U0ALICE',
    place,
  );
  await t.bob.click(await currentQuestion('guarded-0.example'), 'facts_confirm');
  await t.workspace.waitFor(
    async () => ((await tagsOf('guarded-0.example')).length === 0 ? true : undefined),
    { what: 'a free slot' },
  );
  await t.carol.click(await currentQuestion('freed.rest'), 'facts_confirm');
  await t.workspace.waitFor(
    async () => ((await tagsOf('freed.rest')).join() === 'guarded' ? true : undefined),
    { what: 'the change' },
  );
  expect(await expiry.find('freed.rest')).toBeDefined();
});

test('at most 25,000 names can be watched, by command, import or pending change', async () => {
  await addNames(25_000, 'watched', []);
  expect(await send('watch one-more.example')).toContain('25,000');
  expect(await watchMany(t.alice, 'one-more.example')).toContain('25,000');
  expect(await t.demo.bot.expiry.find('one-more.example')).toBeUndefined();
  expect(
    await t.demo.bot.protectedChanges.changeReminders(
      [{ name: 'one-more.example', isNew: true }],
      'U0ALICE',
      {
        channelId: DOMAINS,
      },
    ),
  ).toBe('list_full');
});
