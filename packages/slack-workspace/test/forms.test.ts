import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  buildElementState,
  findInputErrors,
  findPlacedElements,
  getInitialValues,
  keepEnteredValues,
} from '../src/forms.ts';
import { startWorkspace, type View, type Workspace } from '../src/index.ts';
import { findMentions } from '../src/mentions.ts';
import type { InputValue, JsonObject } from '../src/protocol.ts';
import { type RunningApp, startHttpApp } from './bolt-app.ts';
import { call } from './client.ts';

const plainText = (text: string) => ({ type: 'plain_text' as const, text });
const option = (value: string) => ({ text: plainText(value), value });
const input = (element: JsonObject, extraFields: JsonObject = {}): JsonObject => ({
  type: 'input',
  block_id: 'b',
  label: plainText('L'),
  element: { action_id: 'a', ...element },
  ...extraFields,
});

describe('inputs', () => {
  const text = { type: 'plain_text_input' };
  const number = { type: 'number_input', is_decimal_allowed: false };
  test.each<[JsonObject, InputValue, string | undefined]>([
    [input(text), null, 'Please complete this required field.'],
    [input(text), '', 'Please complete this required field.'],
    [input(text, { optional: true }), '', undefined],
    [input(number), '2', undefined],
    [input(number), '2.5', 'Please enter a whole number.'],
    [input({ ...number, min_value: '1', max_value: '5' }), '5', undefined],
    [input({ ...number, min_value: '1', max_value: '5' }), '0', 'Please enter a number that is 1 or more.'],
    [input({ ...number, max_value: '5' }), '7', 'Please enter a number that is 5 or less.'],
    [input({ type: 'email_text_input' }), 'nobody', 'Please enter a valid email address.'],
    [input({ type: 'email_text_input' }), 'a@b.example', undefined],
    [input({ type: 'checkboxes', options: [option('x')] }), [], 'Please complete this required field.'],
  ])('check, like Slack, %j with value %j', (block, value, expected) => {
    const [placedElement] = findPlacedElements([block]);
    if (!placedElement) throw new Error('no element found');
    const values = { b: { a: buildElementState(placedElement, value) } };
    expect(findInputErrors([block], values)['b']).toBe(expected);
  });

  test('store a picker’s choice by ID', () => {
    const blocks = [
      input({ type: 'multi_users_select', initial_users: ['U1'] }, { block_id: 'people' }),
      input({ type: 'users_select', initial_user: 'U1' }, { block_id: 'person' }),
      input({ type: 'conversations_select', initial_conversation: 'C1' }, { block_id: 'channel' }),
    ];
    expect(getInitialValues(blocks)).toEqual({
      people: { a: { type: 'multi_users_select', selected_users: ['U1'] } },
      person: { a: { type: 'users_select', selected_user: 'U1' } },
      channel: { a: { type: 'conversations_select', selected_conversation: 'C1' } },
    });
    const [people, person, channel] = findPlacedElements(blocks);
    if (!people || !person || !channel) throw new Error('no element found');
    expect(buildElementState(people, ['U1', 'U2'])).toMatchObject({ selected_users: ['U1', 'U2'] });
    expect(buildElementState(people, null)).toMatchObject({ selected_users: [] });
    expect(buildElementState(person, 'U2')).toMatchObject({ selected_user: 'U2' });
    expect(buildElementState(channel, 'C2')).toMatchObject({ selected_conversation: 'C2' });
    expect(buildElementState(channel, null)).toMatchObject({ selected_conversation: null });
  });

  test('store uploaded files in the format of payloads', () => {
    const blocks = [input({ type: 'file_input', filetypes: ['csv'], max_files: 1 }, { optional: true })];
    expect(getInitialValues(blocks)).toEqual({ b: { a: { type: 'file_input', files: [] } } });
    const [placedElement] = findPlacedElements(blocks);
    if (!placedElement) throw new Error('no element found');
    const file = { id: 'F1', name: 'names.csv' };
    expect(buildElementState(placedElement, ['F1'], () => file)).toEqual({
      type: 'file_input',
      files: [file],
    });
  });

  test('refuse an option that isn’t offered', () => {
    const [placedElement] = findPlacedElements([input({ type: 'static_select', options: [option('x')] })]);
    if (!placedElement) throw new Error('no element found');
    expect(() => buildElementState(placedElement, 'y')).toThrow('a has no option "y"; it offers x');
  });

  test('keep typed text only if the input stays the same', () => {
    const previousValues = { b: { a: { type: 'plain_text_input', value: 'typed' } } };
    const sameInputValues = getInitialValues([input({ type: 'plain_text_input', initial_value: 'new' })]);
    expect(keepEnteredValues(sameInputValues, previousValues)).toEqual(previousValues);
    const otherInputValues = getInitialValues([input({ type: 'number_input', initial_value: '1' })]);
    expect(keepEnteredValues(otherInputValues, previousValues)).toEqual({
      b: { a: { type: 'number_input', value: '1' } },
    });
  });
});

test.each<[string, JsonObject[], string[]]>([
  ['hello <@U0BOB> and <@U0BOB|bob>', [], ['U0BOB']],
  ['&lt;@U0BOB&gt; &lt;!channel&gt;', [], []],
  ['<!channel> <!here|here> <!subteam^S0APPROVERS|@approvers>', [], ['channel', 'here', 'S0APPROVERS']],
  ['', [{ type: 'section', text: { type: 'mrkdwn', text: '<@U0ADA>' } }], ['U0ADA']],
  ['', [{ type: 'section', text: { type: 'plain_text', text: '<@U0ADA>' } }], []],
  ['', [{ type: 'context', elements: [{ type: 'mrkdwn', text: '<!everyone>' }] }], ['everyone']],
  ['', [{ type: 'rich_text', elements: [{ elements: [{ type: 'user', user_id: 'U0BOB' }] }] }], ['U0BOB']],
])('%j with %j notifies %j', (text, blocks, expected) => {
  expect(findMentions(text, blocks)).toEqual(expected);
});

describe('with an app', () => {
  let workspace: Workspace;
  let runningApp: RunningApp;
  beforeEach(async () => {
    workspace = await startWorkspace({ bot: { escapeEntities: true } });
    runningApp = await startHttpApp(workspace);
  });
  afterEach(async () => {
    await runningApp.stop();
    await workspace.close();
  });

  test('a menu in a dialog can change the dialog, and typed text is kept', async () => {
    const methodInput = (value: string): JsonObject => ({
      type: 'input',
      block_id: 'method',
      label: plainText('Method'),
      dispatch_action: true,
      element: {
        type: 'static_select',
        action_id: 'method',
        options: [option('password'), option('two_factor')],
        initial_option: option(value),
      },
    });
    const textInput = (name: string): JsonObject => ({
      ...input({ type: 'plain_text_input' }),
      block_id: name,
    });
    const view = (...blocks: JsonObject[]) => ({
      type: 'modal',
      title: plainText('Link'),
      submit: plainText('Link'),
      blocks,
    });
    runningApp.app.command('/domain', async ({ ack }) => ack());
    runningApp.app.action('method', async ({ ack, body }) => {
      await ack();
      if (body.type !== 'block_actions' || !body.view) throw new Error('not in a view');
      const blocks = [methodInput('two_factor'), textInput('user'), textInput('token')];
      await call(workspace, 'views.update', {
        view_id: body.view.id,
        hash: body.view.hash,
        view: view(...blocks),
      });
    });
    const alice = workspace.as('U0ALICE');
    const { triggerId } = await alice.command('C0DOMAINS', '/domain link');
    await call(workspace, 'views.open', {
      trigger_id: triggerId,
      view: view(methodInput('password'), textInput('user')),
    });
    const topView = (): View => {
      const openView = alice.openedViews().at(-1);
      if (!openView) throw new Error('no dialog is open');
      return openView;
    };
    expect(await alice.changeInput(topView(), 'a', 'alice', 'user')).toBeUndefined();
    expect(await alice.changeInput(topView(), 'method', 'two_factor')).toMatchObject({ acked: true });
    await workspace.waitFor(() => (topView().blocks.length === 3 ? true : undefined), {
      what: 'the third input',
    });
    expect(topView().state.values).toMatchObject({
      method: { method: { selected_option: { value: 'two_factor' } } },
      user: { a: { value: 'alice' } },
      token: { a: { value: null } },
    });
  });

  test('an ephemeral message is replaced and deleted through its response URL', async () => {
    const bodies: JsonObject[] = [];
    const blocks = ['replace', 'delete'].map((id) => ({
      type: 'actions' as const,
      elements: [{ type: 'button' as const, action_id: id, text: plainText(id), value: 'v' }],
    }));
    runningApp.app.action('replace', async ({ ack, body, respond }) => {
      bodies.push(JSON.parse(JSON.stringify(body)));
      await ack();
      await respond({ text: 'second', blocks, replace_original: true });
    });
    runningApp.app.action('delete', async ({ ack, respond }) => {
      await ack();
      await respond({ delete_original: true });
    });
    await call(workspace, 'chat.postEphemeral', {
      channel: 'C0DOMAINS',
      user: 'U0ALICE',
      text: 'first',
      blocks,
    });
    const alice = workspace.as('U0ALICE');
    const [firstMessage] = alice.ephemerals();
    if (!firstMessage) throw new Error('no ephemeral message was posted');
    await alice.click(firstMessage, 'replace');
    const secondMessage = await workspace.waitFor(
      () => alice.ephemerals().find(({ text }) => text === 'second'),
      {
        what: 'the replacement',
      },
    );
    expect(secondMessage.ts).toBe(firstMessage.ts);
    expect(bodies[0]).toMatchObject({ container: { is_ephemeral: true } });
    expect(bodies[0]).not.toHaveProperty('message');
    await alice.click(secondMessage, 'delete');
    await workspace.waitFor(() => (alice.ephemerals().length === 0 ? true : undefined), {
      what: 'the deletion',
    });
    await expect(workspace.as('U0BOB').click(firstMessage, 'replace')).rejects.toThrow(
      'Bob does not see the message',
    );
  });

  test('buttons with the same action ID have their own values', async () => {
    const actions: JsonObject[] = [];
    runningApp.app.action(/.*/, async ({ ack, payload }) => {
      actions.push(JSON.parse(JSON.stringify(payload)));
      await ack();
    });
    const actionsBlock = (name: string): JsonObject => ({
      type: 'actions',
      elements: [{ type: 'button', action_id: 'renew', value: name, text: plainText('Renew') }],
    });
    const blocks = [actionsBlock('a.rest'), actionsBlock('b.rest')];
    await call(workspace, 'chat.postMessage', { channel: 'C0EXPIRY', text: 'due', blocks });
    const [message] = workspace.messages('C0EXPIRY');
    if (!message) throw new Error('nothing was posted');
    const bob = workspace.as('U0BOB');
    await bob.click(message, 'renew', { value: 'b.rest' });
    expect(actions).toMatchObject([{ action_id: 'renew', value: 'b.rest' }]);
    await expect(bob.click(message, 'renew')).rejects.toThrow('has several elements renew');
    await expect(bob.click(message, 'gone')).rejects.toThrow('it has renew=a.rest, renew=b.rest');
  });

  test('a command declared with should_escape gets people, channels and links as tokens', async () => {
    const texts: string[] = [];
    runningApp.app.command('/domain', async ({ ack, command }) => {
      texts.push(command.text);
      await ack();
    });
    await workspace
      .as('U0ALICE')
      .command('C0DOMAINS', '/domain renew cafe.rest for @bob and @Ada in #general');
    expect(texts).toEqual([
      'renew <http://cafe.rest|cafe.rest> for <@U0BOB|bob> and <@U0ADA|ada> in <#C0GENERAL|general>',
    ]);
  });

  test('the app gets the team of a person from another workspace', async () => {
    const receivedIdentities: unknown[] = [];
    runningApp.app.action('go', async ({ ack, body }) => {
      receivedIdentities.push(body.user, body.team);
      await ack();
    });
    const elements = [{ type: 'button', action_id: 'go', text: plainText('Go') }];
    await call(workspace, 'chat.postMessage', {
      channel: 'C0DOMAINS',
      text: 't',
      blocks: [{ type: 'actions', elements }],
    });
    const [message] = workspace.messages('C0DOMAINS');
    if (!message) throw new Error('nothing was posted');
    await workspace.as('U0DAVE').click(message, 'go');
    expect(receivedIdentities).toMatchObject([{ id: 'U0DAVE', team_id: 'T0ELSEWHERE' }, { id: 'T0STEWARD' }]);
    expect(() => workspace.as('U0DAVE').say('C0GENERAL', 'x')).toThrow('Dave is not in general');
  });
});
