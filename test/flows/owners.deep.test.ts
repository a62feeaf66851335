import type { Actor, Message, View } from '@domain-steward/slack-workspace';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { requestsOf, waitForOrder } from '../support/orders.ts';
import { CONTACTS_AND_NAMESERVERS, downloadAuditLog, listFields, listOptions } from '../support/people.ts';

/*
 * People choose the owner of a name when they order it. Owners are asked before expiry and replaced if they
 * leave.
 */

const t = useTestDemo({ speedup: 8 });
const send = (line: string) => readCommandReply(t.workspace, t.alice, `/domain ${line}`);

async function submitAndApprove(form: View, values: Readonly<Record<string, string | null>>) {
  const order = await waitForOrder(t.workspace, () =>
    t.alice.submit(form, { ...CONTACTS_AND_NAMESERVERS, ...values }),
  );
  await t.bob.click(order.card, 'order_approve');
  await order.waitForResult('SUCCEEDED');
  return order;
}

describe('registering a name', () => {
  test('asks for an owner and a note, which the name gets and the service doesn’t', async () => {
    const form = await openForm(t.workspace, t.alice, '/domain create owned.rest');
    expect(listFields(form)).toEqual(expect.arrayContaining(['owner', 'note']));
    expect(form.state.values).toMatchObject({ owner: { owner: { selected_user: 'U0ALICE' } } });
    const order = await submitAndApprove(form, { owner: 'U0CAROL', note: 'the summer campaign' });
    const [request] = requestsOf(t.service, order);
    expect(JSON.stringify(request?.body)).not.toMatch(/U0CAROL|summer campaign/);
    await until('the owner and note of the name', async () =>
      /\*Owner\* <@U0CAROL>\n\*Note\* the summer campaign/.test(await send('name owned.rest')),
    );
  });

  test('is possible without an owner, and then the name has none', async () => {
    await submitAndApprove(await openForm(t.workspace, t.alice, '/domain create nobodys.rest'), {
      owner: null,
    });
    await until('the name is watched', async () => (await send('name nobodys.rest')).includes('Expires'));
    expect(await send('name nobodys.rest')).not.toContain('*Owner* <@');
  });

  test.each([
    ['a person of another workspace', 'U0DAVE', {}],
    ['a guest', 'U0CAROL', { is_restricted: true }],
    ['the bot', 'U0STEWARD', undefined],
    ['a deactivated person', 'U0CAROL', { deleted: true }],
  ])('rejects %s as the owner', async (_who, owner, changes) => {
    if (changes !== undefined) await t.workspace.changePerson(owner, changes);
    const form = await openForm(t.workspace, t.alice, '/domain create refused.rest');
    expect(await t.alice.submit(form, { ...CONTACTS_AND_NAMESERVERS, owner })).toMatchObject({
      errors: { owner: expect.stringContaining('Owners must be members of this workspace') },
    });
    t.alice.close(form);
    if (changes !== undefined)
      await t.workspace.changePerson(owner, { deleted: false, is_restricted: false });
  });
});

describe('an owner who leaves', () => {
  const NAMES = ['first.rest', 'second.rest', 'third.rest'];

  test('is reported in one alert, from which the names are reassigned', async () => {
    const importForm = await openForm(t.workspace, t.alice, '/domain import');
    await performAndReadReply(t.workspace, t.alice, () =>
      t.alice.submit(importForm, { names: NAMES.join('\n') }),
    );
    await send('names first second third');
    const list = t.alice.ephemerals().at(-1);
    if (list === undefined) throw new Error('no list');
    const editForm = await performAndWaitForView(t.workspace, t.alice, () =>
      t.alice.click(list, 'names_edit'),
    );
    await performAndReadReply(t.workspace, t.alice, () =>
      t.alice.submit(editForm, { names: NAMES, owner: 'U0CAROL' }),
    );

    await t.workspace.changePerson('U0CAROL', { deleted: true });
    const alert = await t.workspace.waitFor(
      () => t.workspace.messages('C0EXPIRY').findLast((each) => textOf(each).includes('has left, so 4')),
      { what: 'the alert' },
    );
    expect(textOf(alert)).toMatch(/4 names need an owner.*first.rest, second.rest, third.rest/s);
    expect(await send('names owner:left')).toMatch(/^4 names.*<@U0CAROL> \(left\)/s);

    const form = await performAndWaitForView(t.workspace, t.bob, () => t.bob.click(alert, 'owners_assign'));
    expect(listOptions(form, 'names')).toEqual(expect.arrayContaining(NAMES));
    const assignment = { names: NAMES, owner: 'U0CAROL' };
    expect(await t.bob.submit(form, assignment)).toMatchObject({ errors: { owner: expect.any(String) } });
    await performAndReadReply(t.workspace, t.bob, () =>
      t.bob.submit(form, { ...assignment, owner: 'U0BOB' }),
    );
    expect(await send('names owner:left')).toMatch(/^1 name /);

    const laterForm = await performAndWaitForView(t.workspace, t.ada, () =>
      t.ada.click(alert, 'owners_assign'),
    );
    expect(listOptions(laterForm, 'names')).toEqual(['owned.rest']);
    t.ada.close(laterForm);
  });

  test('owns the remaining names again after coming back', async () => {
    await t.workspace.changePerson('U0CAROL', { deleted: false });
    await until('no owner is marked “left”', async () =>
      /^No names match/.test(await send('names owner:left')),
    );
    expect(await send('names owner:@U0CAROL')).toContain('owned.rest');
  });
});

describe('the question to an owner', () => {
  const DAY_MS = 86_400_000;
  const NAMES = ['keep.rest', 'pass.rest', 'silent.rest'];
  const listQuestions = (channel: string) =>
    t.workspace.messages(channel).filter(({ blocks }) => JSON.stringify(blocks).includes('"owner_question"'));
  const clickAnswer = (person: Actor, message: Message, action: string, value: string) =>
    performAndReadReply(t.workspace, person, () => person.click(message, action, { value }));
  const waitForQuestion = async (channel: string, matches: (text: string) => boolean = () => true) =>
    t.workspace.waitFor(() => listQuestions(channel).findLast((each) => matches(textOf(each))), {
      what: `a question in ${channel}`,
    });

  beforeAll(async () => {
    const noon = new Date(t.service.clock.registryTime() + 12 * DAY_MS).setUTCHours(12, 0, 0, 0);
    for (const name of NAMES) {
      t.service.state.addDomain({ name, context: 4, expires: noon });
      await send(`watch ${name}`);
    }
    await send('names keep pass silent');
    const list = t.alice.ephemerals().at(-1);
    if (list === undefined) throw new Error('no list');
    const editForm = await performAndWaitForView(t.workspace, t.alice, () =>
      t.alice.click(list, 'names_edit'),
    );
    await performAndReadReply(t.workspace, t.alice, () =>
      t.alice.submit(editForm, { names: NAMES, owner: 'U0CAROL' }),
    );
    await t.demo.moveTime(DAY_MS);
  });

  test('is one message about all names that are due', async () => {
    const question = await waitForQuestion('D0CAROL');
    expect(textOf(question)).toMatch(/^Do you still need these 3 names\?/);
    expect(listQuestions('D0CAROL')).toHaveLength(1);
    expect(await send('name silent.rest')).toContain('<@U0CAROL> (no answer yet)');
  });

  test('can be answered once, and the answer is shown wherever the name is shown', async () => {
    const question = await waitForQuestion('D0CAROL');
    expect(await clickAnswer(t.carol, question, 'owner_keep', 'keep.rest')).toContain(
      'You’re keeping *keep.rest*',
    );
    expect(await clickAnswer(t.carol, question, 'owner_keep', 'keep.rest')).toContain(
      'You already decided to keep this name',
    );
    for (const line of ['name keep.rest', 'expiring 30'])
      expect(await send(line)).toMatch(/<@U0CAROL>(: keep| \(answer: keep\))/);
    await waitForQuestion('D0CAROL', (text) => text.includes('*keep.rest* · you’re keeping it'));
  });

  test('is on the owner’s Home tab, with the next name to decide', async () => {
    await t.carol.openHome();
    await until('the names on Home', () => {
      const home = t.carol.homeView();
      const text = home === undefined ? '' : textOf(home);
      return text.includes('*Your names*: 4') && /Next decision due: \*(pass|silent)\.rest\*/.test(text);
    });
  });

  test('goes to the new owner with a note when the name is handed over', async () => {
    const question = await waitForQuestion('D0CAROL');
    const form = await performAndWaitForView(t.workspace, t.carol, () =>
      t.carol.click(question, 'owner_handover', { value: 'pass.rest' }),
    );
    expect(listFields(form)).toEqual(['owner', 'note']);
    expect(await t.carol.submit(form, { owner: 'U0DAVE' })).toMatchObject({
      errors: { owner: expect.stringContaining('members of this workspace') },
    });
    await performAndReadReply(t.workspace, t.carol, () =>
      t.carol.submit(form, { owner: 'U0BOB', note: 'you run the shop' }),
    );
    const message = await waitForQuestion('D0BOB');
    expect(textOf(message)).toContain('<@U0CAROL> handed *pass.rest* over to you: “you run the shop”');
    await waitForQuestion('D0CAROL', (text) => !text.includes('pass.rest'));
    expect(await clickAnswer(t.bob, message, 'owner_keep', 'pass.rest')).toContain(
      'You’re keeping *pass.rest*',
    );
    expect((await downloadAuditLog(t.workspace)).csv).toContain('you run the shop');
  });

  test('can’t be answered by an owner who has left, and stays open when they come back', async () => {
    const question = await waitForQuestion('D0CAROL');
    await t.workspace.changePerson('U0CAROL', { is_restricted: true });
    await until('the owner is marked as having left', async () =>
      (await send('name silent.rest')).includes('has left'),
    );
    expect(await clickAnswer(t.carol, question, 'owner_keep', 'silent.rest')).not.toContain('You’re keeping');
    await t.workspace.changePerson('U0CAROL', { is_restricted: false });
    await until('the owner is no longer marked', async () =>
      (await send('name silent.rest')).includes('<@U0CAROL> (no answer yet)'),
    );
  });

  test('is repeated at the next threshold in the reminder channel, but not to the owner', async () => {
    await t.demo.moveTime(4 * DAY_MS);
    const digest = await t.workspace.waitFor(
      () => t.workspace.messages('C0EXPIRY').findLast((each) => textOf(each).includes('*silent.rest*')),
      { what: 'the digest' },
    );
    expect(textOf(digest)).toMatch(/\*silent\.rest\* .*no answer from <@U0CAROL> yet/);
    expect(textOf(digest)).not.toContain('keep.rest');
    expect(listQuestions('D0CAROL')).toHaveLength(1);
  });

  test('can be answered with “let it lapse” without a linked account', async () => {
    const question = await waitForQuestion('D0CAROL');
    const form = await performAndWaitForView(t.workspace, t.carol, () =>
      t.carol.click(question, 'reminder_lapse', { value: 'silent.rest' }),
    );
    expect(await t.carol.submit(form, { reason: 'the campaign is over' })).toMatchObject({
      outcome: 'closed',
    });
    await until('the answer on the question', () =>
      t.workspace
        .messages('D0CAROL')
        .some((each) => textOf(each).includes('*silent.rest* · you’re letting it lapse')),
    );
  });
});
