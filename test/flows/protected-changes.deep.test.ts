import type { Actor, Message } from '@domain-steward/slack-workspace';
import { beforeEach, expect, test } from 'vitest';
import type { PolicyRule } from '../../src/policy/policy.ts';
import { rule } from '../policy/sample.ts';
import {
  answerTo,
  buttonsOf,
  DOMAINS,
  openedAfter,
  openForm,
  textOf,
  toldAfter,
  useTestDemo,
} from '../support/demo.ts';
import { closed } from '../support/people.ts';

/*
 * Every way to change what protects a name goes through one gate, which asks for what the affected rules ask of an order.
 */

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

const told = (line: string, person: Actor = t.alice) => answerTo(t.workspace, person, `/domain ${line}`);
const tagsOf = async (name: string) =>
  [...((await told(`name ${name}`)).match(/\*Tags\* ([^\n]*)/)?.[1] ?? '').matchAll(/`([^`]+)`/g)].map(
    ([, tag]) => tag,
  );

async function watched(name: string, tags: string): Promise<void> {
  rules = [];
  await told(`watch ${name}`);
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
  await told(`name ${name}`, person);
  const screen = person.ephemerals().findLast((each) => buttonsOf(each).includes('name_edit'));
  if (screen === undefined) throw new Error(`no screen of ${name}`);
  const form = await openedAfter(t.workspace, person, () => person.click(screen, 'name_edit'));
  return toldAfter(t.workspace, person, async () => closed(await person.submit(form, values)));
}

async function bulkEdit(person: Actor, name: string): Promise<string> {
  await told(`names ${name}`, person);
  const list = person.ephemerals().at(-1);
  if (list === undefined) throw new Error('no list');
  const form = await openedAfter(t.workspace, person, () => person.click(list, 'names_edit'));
  return toldAfter(t.workspace, person, async () =>
    closed(await person.submit(form, { names: [name], tags: '-brand' })),
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
  return toldAfter(t.workspace, person, () => person.click(plan, 'names_import_apply'));
}

async function watchMany(person: Actor, names: string): Promise<string> {
  const form = await openForm(t.workspace, person, '/domain import');
  return toldAfter(t.workspace, person, async () => closed(await person.submit(form, { names })));
}

/** The question of the last change, wherever it stands. */
const questionAbout = (name: string, channel = DOMAINS): Promise<Message> =>
  t.workspace.waitFor(
    () =>
      t.workspace
        .messages(channel)
        .findLast((each) => buttonsOf(each).includes('facts_dismiss') && textOf(each).includes(name)),
    { what: `the question about ${name}` },
  );
const click = (person: Actor, question: Message) =>
  toldAfter(t.workspace, person, () => person.click(question, 'facts_confirm'));

const PATHS: readonly [string, (person: Actor, name: string) => Promise<string>][] = [
  ['the command', (person, name) => told(`unwatch ${name}`, person)],
  ['the form', (person, name) => edit(person, name, { tags: '' })],
  ['the bulk edit', bulkEdit],
  ['the file', (person, name) => importCsv(person, `name,tags\n${name},`)],
];

test.each(
  PATHS.flatMap(([path, act]) =>
    (['alice', 'bob', 'carol'] as const).map((who) => [path, who, act] as const),
  ),
)('by %s, %s weakens nothing alone, and no approver outside the rule confirms it', async (path, who, act) => {
  const name = `${path.replace(/\W/g, '')}-${who}.rest`;
  await watched(name, 'brand');
  expect(await act(t[who], name)).toContain('waits for a second person');
  expect(await tagsOf(name)).toEqual(['brand']);
  const question = await questionAbout(name);
  if (who !== 'bob') expect(await click(t.bob, question)).toContain('These can: <@U0CAROL>');
  if (who === 'carol') return expect(await click(t.carol, question)).toContain('You asked for this');
  await t.carol.click(question, 'facts_confirm');
  await t.workspace.waitFor(async () => ((await tagsOf(name)).length === 0 ? true : undefined), {
    what: 'the confirmed change',
  });
});

test('asks for every confirmation that the rule needs, of those whom it names', async () => {
  await watched('two.rest', 'brand');
  rules = [{ ...LEGAL, approvers: ['U0BOB', 'U0CAROL'], needed: 2 }];
  await edit(t.alice, 'two.rest', { tags: '' });
  const question = await questionAbout('two.rest');
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

test('of a name that changed meanwhile the change is refused and shown again as it is now', async () => {
  await watched('moving.rest', 'brand');
  await edit(t.alice, 'moving.rest', { tags: '' });
  const question = await questionAbout('moving.rest');
  await edit(t.bob, 'moving.rest', { tags: 'brand', note: 'new note' });
  await t.carol.click(question, 'facts_confirm');
  const again = await t.workspace.waitFor(
    () =>
      t.carol
        .ephemerals()
        .findLast((each) => textOf(each).includes('new note') && buttonsOf(each).includes('facts_confirm')),
    { what: 'the change as it is now' },
  );
  expect(await tagsOf('moving.rest')).toEqual(['brand']);
  await t.carol.click(again, 'facts_confirm');
  await t.workspace.waitFor(async () => ((await tagsOf('moving.rest')).length === 0 ? true : undefined), {
    what: 'the change',
  });
});

test('a later date than that of somebody else waits, by command and by list; one’s own does not', async () => {
  expect(await told('watch dated.test 2027-05-01')).not.toContain('waits');
  expect(await told('watch dated.test 2027-06-01')).not.toContain('waits');
  expect(await told('watch dated.test 2027-05-01', t.bob)).not.toContain('waits');
  expect(await told('watch dated.test 2028-05-01')).toContain('waits for a second person');
  expect(await watchMany(t.alice, 'dated.test, 2028-06-01')).toContain('1 date waiting for confirmation');
  expect((await t.demo.bot.expiry.find('dated.test'))?.expiry?.at).toEqual(new Date('2027-05-01'));
  await t.carol.click(await questionAbout('dated.test'), 'facts_confirm');
  await t.workspace.waitFor(
    async () =>
      (await t.demo.bot.expiry.find('dated.test'))?.expiry?.at.getUTCFullYear() === 2028 ? true : undefined,
    { what: 'the confirmed date' },
  );
  const far = `${new Date().getUTCFullYear() + 11}-01-01`;
  expect(await told(`watch dated.test ${far}`)).toContain('more than 10 years ahead');
  expect(await watchMany(t.alice, `far.test, ${far}`)).toContain('more than 10 years ahead');
});

test('a new owner or channel takes effect at once and is announced where everybody sees it', async () => {
  await watched('routed.rest', '');
  await edit(t.alice, 'routed.rest', { channel: 'C0GENERAL', owner: 'U0BOB' });
  const notice = await t.workspace.waitFor(
    () => t.workspace.messages(REMINDERS).findLast((each) => textOf(each).includes('who is reminded of')),
    { what: 'the announcement' },
  );
  expect(textOf(notice)).toMatch(
    /<@U0ALICE>.*routed\.rest.*no owner → owner <@U0BOB>, channel <#C0GENERAL>/s,
  );
});

test('a change that waits is announced in the reminder channel, and what became of it', async () => {
  await watched('told.rest', 'brand');
  await edit(t.alice, 'told.rest', { tags: '' });
  const noticed = (text: string) =>
    t.workspace.waitFor(
      () =>
        t.workspace
          .messages(REMINDERS)
          .find((each) => textOf(each).includes('told.rest') && textOf(each).includes(text)),
      { what: text },
    );
  expect(buttonsOf(await noticed('waits for confirmation'))).toEqual([]);
  await t.carol.click(await questionAbout('told.rest'), 'facts_confirm');
  await noticed('confirmed by <@U0CAROL>');
});
