import type { Actor, Message, View } from '@domain-steward/slack-workspace';
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

/* A second person must confirm changes to fields that rules, budgets and alarms use. */

let rules: readonly PolicyRule[] = [];
const t = useTestDemo({ policy: { loadCurrentPolicy: async () => ({ version: 3, rules }) } });
const BRAND_RULE = newPolicyRule({
  name: 'not the brand',
  tasks: ['all'],
  names: ['tag:brand'],
  decision: 'refuse',
  approvers: [],
});
beforeEach(() => {
  rules = [BRAND_RULE];
});

const sendCommand = (line: string, person: Actor = t.alice) =>
  readCommandReply(t.workspace, person, `/domain ${line}`);
const readTags = async (name: string) =>
  /\*Tags\* ([^\n]*)/.exec(await sendCommand(`name ${name}`))?.[1] ?? '';

/** Watches and tags a name while no rule applies, so no confirmation is needed. */
async function watchWithTags(name: string, tags: string): Promise<void> {
  rules = [];
  await sendCommand(`watch ${name}`);
  if (tags !== '') await editTags(t.alice, name, tags);
  rules = [BRAND_RULE];
}

async function openEditForm(name: string, person: Actor): Promise<View> {
  await sendCommand(`name ${name}`, person);
  const screen = await t.workspace.waitFor(
    () =>
      person
        .ephemerals()
        .findLast((each) => buttonsOf(each).includes('name_edit') && textOf(each).includes(name)),
    { what: `the screen of ${name}` },
  );
  return performAndWaitForView(t.workspace, person, () => person.click(screen, 'name_edit'));
}

/** Sets the tags of a name in its form. @returns the reply */
async function editTags(person: Actor, name: string, tags: string, otherFields = {}): Promise<string> {
  const form = await openEditForm(name, person);
  return performAndReadReply(t.workspace, person, async () =>
    expectFormClosed(await person.submit(form, { tags, ...otherFields })),
  );
}

async function actAndWaitForQuestion(act: () => Promise<unknown>, channel = DOMAINS): Promise<Message> {
  const before = t.workspace.messages(channel).length;
  await act();
  return t.workspace.waitFor(
    () =>
      t.workspace
        .messages(channel)
        .slice(before)
        .find((each) => buttonsOf(each).includes('facts_dismiss')),
    { what: 'the question to the second person' },
  );
}

const clickQuestion = (person: Actor, question: Message, button = 'facts_confirm') =>
  person.click(question, button);
const waitForQuestionText = (question: Message, text: string) =>
  t.workspace.waitFor(
    () =>
      t.workspace
        .messages(DOMAINS)
        .find(({ ts, ...each }) => ts === question.ts && textOf(each).includes(text)),
    { what: `the question to say “${text}”` },
  );

test('protected changes to several names are confirmed together', async () => {
  for (const name of ['many-one.rest', 'many-two.rest']) await watchWithTags(name, 'brand');
  await watchWithTags('many-three.rest', '');
  await sendCommand('names many-', t.bob);
  const list = t.bob.ephemerals().at(-1);
  if (list === undefined) throw new Error('no list was shown');
  const form = await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(list, 'names_edit'));
  const names = ['many-one.rest', 'many-two.rest', 'many-three.rest'];
  let reply = '';
  const question = await actAndWaitForQuestion(async () => {
    reply = await performAndReadReply(t.workspace, t.bob, async () =>
      expectFormClosed(await t.bob.submit(form, { names, tags: '-brand', note: 'sold' })),
    );
  });
  expect(reply).toContain(
    'I saved the changes to 1 name. Another person must confirm this change to 2 names',
  );
  await clickQuestion(t.carol, question);
  await waitForQuestionText(question, 'confirmed a change to 2 names');
  expect(await readTags('many-one.rest')).toBe('');
});

test('protected changes from a file are confirmed together, after a preview of all names', async () => {
  rules = [];
  const names = Array.from({ length: 25 }, (_, n) => `file-${n}.example`);
  await t.demo.bot.expiry.importNames(
    names.join('\n'),
    (changes) => t.demo.bot.protectedChanges.changeReminders(changes, 'U0ALICE', { channelId: '' }),
    async () => undefined,
  );
  const prepareImport = async (person: Actor, tags: string) => {
    const form = await openForm(t.workspace, person, '/domain names import');
    const rows = ['name,tags', ...names.map((name) => `${name},${tags}`)].join('\n');
    await person.submit(form, { rows });
    const plan = await t.workspace.waitFor(
      () => person.ephemerals().findLast((each) => textOf(each).includes('25 names would change')),
      { what: 'the plan' },
    );
    return () => person.click(plan, 'names_import_apply');
  };
  expect(await performAndReadReply(t.workspace, t.alice, await prepareImport(t.alice, 'brand'))).toContain(
    'I saved the changes to 25 names',
  );
  rules = [BRAND_RULE];
  const question = await actAndWaitForQuestion(await prepareImport(t.bob, ''));
  expect(buttonsOf(question)).toEqual(['facts_look', 'facts_dismiss']);
  await clickQuestion(t.carol, question, 'facts_look');
  const preview = await t.workspace.waitFor(
    () => t.carol.ephemerals().findLast((each) => buttonsOf(each).includes('facts_confirm')),
    { what: 'the question with the file' },
  );
  expect(t.workspace.messages('D0CAROL').some(({ files }) => files !== undefined)).toBe(true);
  expect(await readTags('file-7.example')).toBe('`brand`');
  await clickQuestion(t.carol, preview);
  await t.workspace.waitFor(
    () => t.carol.ephemerals().find((each) => textOf(each).includes('confirmed a change to 25 names')),
    { what: 'the confirmation' },
  );
  expect(await readTags('file-7.example')).toBe('');
});
