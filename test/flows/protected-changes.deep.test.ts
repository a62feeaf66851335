import type { Actor, Message } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { beforeEach, expect, test } from 'vitest';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { newPolicyRule } from '../policy/sample.ts';
import {
  buttonsOf,
  DOMAINS,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { expectFormClosed } from '../support/people.ts';

/* Every change that weakens a name's protection needs the confirmations that the affected rules require. */

let rules: readonly PolicyRule[] = [];
const t = useTestDemo({
  policy: { loadCurrentPolicy: async () => ({ version: 3, rules }) },
});
const REMINDER_CHANNEL = 'C0EXPIRY';
const LEGAL_RULE = newPolicyRule({
  name: 'legal',
  tasks: ['transfer', 'delete'],
  names: ['tag:brand'],
  approvers: ['U0CAROL'],
});
beforeEach(() => {
  rules = [LEGAL_RULE];
});

const send = (line: string, person: Actor = t.alice) =>
  readCommandReply(t.workspace, person, `/domain ${line}`);
const readTags = async (name: string) =>
  [...((await send(`name ${name}`)).match(/\*Tags\* ([^\n]*)/)?.[1] ?? '').matchAll(/`([^`]+)`/g)].map(
    ([, tag]) => tag,
  );

async function watchWithTags(name: string, tags: string): Promise<void> {
  rules = [];
  await send(`watch ${name}`);
  await editName(t.alice, name, { tags });
  await t.workspace.waitFor(async () => ((await readTags(name)).join() === tags ? true : undefined), {
    what: `the tags of ${name}`,
  });
  rules = [LEGAL_RULE];
}

async function editName(
  person: Actor,
  name: string,
  values: Readonly<Record<string, string | string[]>>,
): Promise<string> {
  await send(`name ${name}`, person);
  const nameReply = person.ephemerals().findLast((each) => buttonsOf(each).includes('name_edit'));
  if (nameReply === undefined) throw new Error(`${name} was not shown`);
  const form = await performAndWaitForView(t.workspace, person, () => person.click(nameReply, 'name_edit'));
  return performAndReadReply(t.workspace, person, async () =>
    expectFormClosed(await person.submit(form, values)),
  );
}

async function removeTagInBulk(person: Actor, name: string): Promise<string> {
  await send(`names ${name}`, person);
  const list = person.ephemerals().at(-1);
  if (list === undefined) throw new Error('no list');
  const form = await performAndWaitForView(t.workspace, person, () => person.click(list, 'names_edit'));
  return performAndReadReply(t.workspace, person, async () =>
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
  return performAndReadReply(t.workspace, person, () => person.click(plan, 'names_import_apply'));
}

async function importNames(person: Actor, names: string): Promise<string> {
  const form = await openForm(t.workspace, person, '/domain import');
  return performAndReadReply(t.workspace, person, async () =>
    expectFormClosed(await person.submit(form, { names })),
  );
}

/** The confirmation request for the latest change of a name. */
const waitForConfirmationRequest = (name: string, channel = DOMAINS): Promise<Message> =>
  t.workspace.waitFor(
    () =>
      t.workspace
        .messages(channel)
        .findLast((each) => buttonsOf(each).includes('facts_dismiss') && textOf(each).includes(name)),
    { what: `the confirmation request for ${name}` },
  );
const clickConfirm = (person: Actor, question: Message) =>
  performAndReadReply(t.workspace, person, () => person.click(question, 'facts_confirm'));

/** Ways to remove a name's protection. */
const WAYS_TO_REMOVE_TAGS = [
  ['the command', (person, name) => send(`unwatch ${name}`, person)],
  ['the form', (person, name) => editName(person, name, { tags: '' })],
  ['the bulk edit', removeTagInBulk],
  ['the file', (person, name) => importCsv(person, `name,tags\n${name},`)],
] as const satisfies readonly (readonly [string, (person: Actor, name: string) => Promise<string>])[];

test.each([
  ...WAYS_TO_REMOVE_TAGS.map(([way, act]) => [way, 'alice', act] as const),
  ['the command', 'carol', WAYS_TO_REMOVE_TAGS[0][1]] as const,
])(
  'removing the protection with %s by %s needs an approver in the rule',
  async (way, requester, removeProtection) => {
    const name = `${way.replace(/\W/g, '')}-${requester}.rest`;
    await watchWithTags(name, 'brand');
    expect(await removeProtection(t[requester], name)).toContain('Another person must confirm this change');
    expect(await readTags(name)).toEqual(['brand']);
    const question = await waitForConfirmationRequest(name);
    expect(await clickConfirm(t.bob, question)).toContain('Only <@U0CAROL> can');
    if (requester === 'carol')
      return expect(await clickConfirm(t.carol, question)).toContain('You requested this');
    await t.carol.click(question, 'facts_confirm');
    await t.workspace.waitFor(async () => ((await readTags(name)).length === 0 ? true : undefined), {
      what: 'the confirmed change',
    });
  },
);

/** Requests to let a name lapse, like the button in a digest, and waits for the confirmation request. */
async function requestLapse(name: string): Promise<Message> {
  const origin = { channelId: DOMAINS };
  const { expiry, protectedChanges } = t.demo.bot;
  const result = await expiry.requestLapse({ name, reason: 'not needed', origin }, (changes) =>
    protectedChanges.changeReminders(changes, 'U0ALICE', origin),
  );
  expect(result).toMatchObject({ ok: true });
  await send(`name ${name}`);
  return t.workspace.waitFor(
    () =>
      t.workspace
        .messages(DOMAINS)
        .findLast((each) => buttonsOf(each).includes('lapse_confirm') && textOf(each).includes(name)),
    { what: `the request about ${name}` },
  );
}
const readLapseConfirmation = async (name: string) => (await t.demo.bot.expiry.find(name))?.lapse?.confirmed;

test('letting a name with a rule lapse needs confirmation from the rule’s approvers', async () => {
  await watchWithTags('lapse.rest', 'brand');
  const request = await requestLapse('lapse.rest');
  const confirm = (person: Actor) =>
    performAndReadReply(t.workspace, person, () => person.click(request, 'lapse_confirm'));
  expect(await confirm(t.alice)).toContain('You requested this');
  expect(await confirm(t.bob)).toContain('Only <@U0CAROL> can');
  expect(await readLapseConfirmation('lapse.rest')).toBeUndefined();
  await t.carol.click(request, 'lapse_confirm');
  await t.workspace.waitFor(
    async () => ((await readLapseConfirmation('lapse.rest'))?.by === 'U0CAROL' ? true : undefined),
    { what: 'the lapse' },
  );
});

test('a confirmation counts only for the change that was shown', async () => {
  await watchWithTags('shown.rest', 'brand');
  await send('unwatch shown.rest');
  const question = await waitForConfirmationRequest('shown.rest');
  const [id = ''] = JSON.stringify(question).match(/[0-9a-f]{8}-[0-9a-f-]{27}/) ?? [];
  const confirmation = { userId: 'U0CAROL', shownHash: 'f'.repeat(64) };
  expect(await t.demo.bot.proposals.confirm(['facts'], id, confirmation)).toMatchObject({
    ok: false,
    refusal: { code: 'changed' },
  });
  expect(await readTags('shown.rest')).toEqual(['brand']);
  await t.carol.click(question, 'facts_confirm');
  await t.workspace.waitFor(
    async () => ((await t.demo.bot.expiry.find('shown.rest')) === undefined ? true : undefined),
    { what: 'the change' },
  );
});

test('a change needs as many confirmations as the rule requires, from its approvers', async () => {
  await watchWithTags('two.rest', 'brand');
  rules = [{ ...LEGAL_RULE, approvers: ['U0ALICE', 'U0BOB', 'U0CAROL'], needed: 2 }];
  await editName(t.alice, 'two.rest', { tags: '' });
  const question = await waitForConfirmationRequest('two.rest');
  const { proposals } = t.demo.bot;
  const [id = ''] = JSON.stringify(question).match(/[0-9a-f]{8}-[0-9a-f-]{27}/) ?? [];
  const pendingChange = await proposals.find(['facts'], id);
  if (pendingChange === undefined) throw new Error('no pending change');
  expect((await proposals.buildSignedSubject(pendingChange)).binding).toEqual({
    change: id,
    requesters: ['U0ALICE'],
  });
  const confirmations = [{ userId: 'U0BOB' }, { userId: 'U0ALICE' }];
  const [progress] = await proposals.loadProgress({ ...pendingChange, confirmations });
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
  expect(await readTags('two.rest')).toEqual(['brand']);
  await t.carol.click(question, 'facts_confirm');
  await t.workspace.waitFor(async () => ((await readTags('two.rest')).length === 0 ? true : undefined), {
    what: 'the change',
  });
});

test('confirming an outdated change is refused, and the current one is shown', async () => {
  await watchWithTags('moving.rest', 'brand');
  await editName(t.alice, 'moving.rest', { tags: '' });
  const question = await waitForConfirmationRequest('moving.rest');
  await editName(t.bob, 'moving.rest', { tags: 'brand', note: 'new note' });
  await t.carol.click(question, 'facts_confirm');
  const currentRequest = await t.workspace.waitFor(
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
  expect(await readTags('moving.rest')).toEqual(['brand']);
  await t.carol.click(currentRequest, 'facts_confirm');
  await t.workspace.waitFor(async () => ((await readTags('moving.rest')).length === 0 ? true : undefined), {
    what: 'the change',
  });
});

test('moving a date entered by another person to a later day needs confirmation', async () => {
  expect(await send('watch dated.test 2027-05-01')).not.toContain('confirmation');
  expect(await send('watch dated.test 2027-06-01')).not.toContain('confirmation');
  expect(await send('watch dated.test 2027-05-01', t.bob)).not.toContain('confirmation');
  // Although Bob entered the earlier date, a later one needs confirmation.
  expect(await send('watch dated.test 2027-07-01', t.bob)).toContain(
    'Another person must confirm this change',
  );
  expect(await send('watch dated.test 2028-05-01')).toContain('Another person must confirm this change');
  expect(await importNames(t.alice, 'dated.test, 2028-06-01')).toContain('1 date waiting for confirmation');
  expect((await t.demo.bot.expiry.find('dated.test'))?.expiry?.at).toEqual(new Date('2027-05-01'));
  await t.carol.click(await waitForConfirmationRequest('dated.test'), 'facts_confirm');
  await t.workspace.waitFor(
    async () =>
      (await t.demo.bot.expiry.find('dated.test'))?.expiry?.at.getUTCFullYear() === 2028 ? true : undefined,
    { what: 'the confirmed date' },
  );
  const distantDate = `${new Date().getUTCFullYear() + 11}-01-01`;
  expect(await send(`watch dated.test ${distantDate}`)).toContain('more than 10 years ahead');
  expect(await importNames(t.alice, `far.test, ${distantDate}`)).toContain('more than 10 years ahead');
});

test('a new owner or channel takes effect immediately and is announced in the reminder channel', async () => {
  await watchWithTags('routed.rest', '');
  await editName(t.alice, 'routed.rest', { channel: 'C0GENERAL', owner: 'U0BOB' });
  const notice = await t.workspace.waitFor(
    () =>
      t.workspace.messages(REMINDER_CHANNEL).findLast((each) => textOf(each).includes(':mailbox_with_mail:')),
    { what: 'the announcement' },
  );
  expect(textOf(notice)).toMatch(
    /<@U0ALICE> changed the owner and channel of 1 name.*routed\.rest.*owner: none → <@U0BOB>; channel: none → <#C0GENERAL>/s,
  );
});

test('a pending change and its result are announced in the reminder channel', async () => {
  await watchWithTags('told.rest', 'brand');
  await editName(t.alice, 'told.rest', { tags: '' });
  const waitForNotice = (text: string) =>
    t.workspace.waitFor(
      () =>
        t.workspace
          .messages(REMINDER_CHANNEL)
          .find((each) => textOf(each).includes('told.rest') && textOf(each).includes(text)),
      { what: text },
    );
  expect(buttonsOf(await waitForNotice('It needs confirmation'))).toEqual([]);
  await t.carol.click(await waitForConfirmationRequest('told.rest'), 'facts_confirm');
  await waitForNotice('<@U0CAROL> confirmed');
});

/** Adds names like an import, but without due lookups. */
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

test('at most 1,000 names can be guarded, whether by form, file or pending change', async () => {
  const { protectedChanges, expiry } = t.demo.bot;
  const origin = { channelId: DOMAINS };
  await watchWithTags('freed.rest', 'brand');
  await watchWithTags('beyond.rest', '');
  const pendingChange = await protectedChanges.changeDetails(
    new Map([['freed.rest', { tags: ['guarded'] }]]),
    'U0ALICE',
    origin,
  );
  expect(pendingChange).toMatchObject({ changedNames: [] });
  await addNames(1_000, 'guarded', ['guarded']);
  const limitText = 'at most 1,000 names can be tagged `guarded`';
  expect(await editName(t.alice, 'beyond.rest', { tags: 'guarded' })).toContain(limitText);
  expect(await importCsv(t.alice, 'name,tags\nbeyond.rest,guarded')).toContain(limitText);
  expect(await readTags('beyond.rest')).toEqual([]);
  expect(await clickConfirm(t.carol, await waitForConfirmationRequest('freed.rest'))).toContain(limitText);
  expect(await readTags('freed.rest')).toEqual(['brand']);
  await protectedChanges.changeDetails(
    new Map([['guarded-0.example', { removeTags: ['guarded'] }]]),
    'U0ALICE',
    origin,
  );
  await t.bob.click(await waitForConfirmationRequest('guarded-0.example'), 'facts_confirm');
  await t.workspace.waitFor(
    async () => ((await readTags('guarded-0.example')).length === 0 ? true : undefined),
    { what: 'one guarded name fewer' },
  );
  await t.carol.click(await waitForConfirmationRequest('freed.rest'), 'facts_confirm');
  await t.workspace.waitFor(
    async () => ((await readTags('freed.rest')).join() === 'guarded' ? true : undefined),
    { what: 'the change' },
  );
  expect(await expiry.find('freed.rest')).toBeDefined();
});

test('at most 25,000 names can be watched, whether by command, import or confirmed change', async () => {
  await addNames(25_000, 'watched', []);
  expect(await send('watch one-more.example')).toContain('25,000');
  expect(await importNames(t.alice, 'one-more.example')).toContain('25,000');
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
