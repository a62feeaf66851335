import { startWorkspace, type Workspace } from '@domain-steward/slack-workspace';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RunningApp, startHttpApp } from '../../packages/slack-workspace/test/bolt-app.ts';
import { call } from '../../packages/slack-workspace/test/client.ts';
import { expectFocus, launchBrowser, Window } from './windows.ts';

/* Tests the workspace's page with a small app instead of the bot. */

const DOMAINS_CHANNEL = 'C0DOMAINS';
let browser: Browser;
let workspace: Workspace;
let runningApp: RunningApp;
let alice: Window;

beforeAll(async () => {
  browser = await launchBrowser();
});
beforeEach(async () => {
  workspace = await startWorkspace({
    commands: [
      { command: '/domain', usage_hint: 'renew NAME… [PERIOD]', description: 'Renew domains' },
      { command: '/domain', usage_hint: 'restore NAME', description: 'Restore a domain' },
      { command: '/domain', usage_hint: 'help', description: 'Show what I can do' },
    ],
    shortcuts: [{ name: 'Domain task…', callback_id: 'domain_here' }],
  });
  runningApp = await startHttpApp(workspace);
  alice = await Window.open(browser, workspace.url, 'U0ALICE');
});
afterEach(async () => {
  await alice.close();
  await runningApp.stop();
  await workspace.close();
});
afterAll(() => browser.close());

const mrkdwn = (text: string) => ({ type: 'mrkdwn', text });
const plainText = (text: string) => ({ type: 'plain_text', text });

async function postBlocks(blocks: object[]): Promise<void> {
  const answer = await call(workspace, 'chat.postMessage', {
    channel: DOMAINS_CHANNEL,
    text: 'blocks',
    blocks,
  });
  expect(answer).toMatchObject({ ok: true });
}

test('the page shows every block type and is accessible in light and dark mode', async () => {
  const names = ['b10.rest', 'b9.rest', 'a.rest', 'c.rest', 'd.rest', 'e.rest', 'f.rest'];
  await postBlocks([
    { type: 'header', text: plainText('All of it') },
    {
      type: 'section',
      text: mrkdwn(
        '*bold* _it_ ~no~ `code` <@U0BOB> <#C0EXPIRY> <https://example.org|away> :bell:\n> quoted\n```as it is```',
      ),
    },
    { type: 'section', fields: [mrkdwn('*A*\n1'), mrkdwn('*B*\n2')] },
    { type: 'context', elements: [mrkdwn('when: <!date^1790000000^{date_short}|then>')] },
    { type: 'divider' },
    {
      type: 'data_table',
      caption: 'Names',
      page_size: 5,
      row_header_column_index: 0,
      rows: [
        [
          { type: 'raw_text', text: 'Name' },
          { type: 'raw_text', text: 'Days' },
        ],
        ...names.map((text, index) => [
          { type: 'raw_text', text },
          { type: 'raw_text', text: `${index * 7}` },
        ]),
      ],
    },
    {
      type: 'data_visualization',
      title: 'By month',
      chart: {
        type: 'bar',
        series: [
          {
            name: 'Names',
            data: [
              { label: 'Jan', value: 3 },
              { label: 'Feb', value: 12 },
            ],
          },
        ],
        axis_config: { categories: ['Jan', 'Feb'], x_label: 'Month', y_label: 'Names' },
      },
    },
    {
      type: 'rich_text',
      elements: [
        { type: 'rich_text_section', elements: [{ type: 'user', user_id: 'U0BOB' }] },
        { type: 'rich_text_preformatted', elements: [{ type: 'text', text: 'as *it* is' }] },
      ],
    },
  ]);
  const message = alice.message('All of it');
  await message.getByText('as *it* is').waitFor();
  const table = message.getByRole('table', { name: 'Names', exact: true });
  const readRowHeaders = () => table.getByRole('rowheader').allTextContents();
  expect(await readRowHeaders()).toEqual(names.slice(0, 5));
  await table.getByRole('button', { name: 'Name' }).click();
  expect(await readRowHeaders()).toEqual(['a.rest', 'b9.rest', 'b10.rest', 'c.rest', 'd.rest']);
  await message.getByRole('button', { name: 'Next' }).click();
  expect(await readRowHeaders()).toEqual(['e.rest', 'f.rest']);
  await table.getByRole('button', { name: 'Days' }).click();
  await table.getByRole('button', { name: 'Days' }).click();
  expect((await readRowHeaders())[0]).toBe('f.rest');
  expect(await table.getByRole('columnheader', { name: 'Days' }).getAttribute('aria-sort')).toBe(
    'descending',
  );
  expect(await message.getByRole('table', { name: 'By month' }).getByRole('cell').allTextContents()).toEqual([
    '3',
    '12',
  ]);
  await alice.expectAccessible('all blocks, light');
  await alice.page.emulateMedia({ colorScheme: 'dark' });
  await alice.expectAccessible('all blocks, dark');
});

test('a button can be pressed with the keyboard and keeps the focus', async () => {
  const clickedBy: string[] = [];
  runningApp.app.action('drop', async ({ ack, body }) => {
    await ack();
    clickedBy.push(body.user.id);
  });
  await postBlocks([
    {
      type: 'actions',
      elements: [{ type: 'button', action_id: 'drop', text: plainText('Discard'), style: 'danger' }],
    },
  ]);
  const button = alice.page.getByRole('button', { name: 'Discard' });
  await button.focus();
  await alice.page.keyboard.press('Enter');
  await expect.poll(() => clickedBy).toEqual(['U0ALICE']);
  await expectFocus(button, 'the button keeps the focus');
});

test('the composer completes commands by keyboard and shows their usage', async () => {
  const commandTexts: string[] = [];
  runningApp.app.command('/domain', async ({ ack, command }) => {
    commandTexts.push(command.text);
    await ack(`did ${command.text}`);
  });
  const { composer, page } = alice;
  await composer.pressSequentially('/domain re');
  const commandList = page.getByRole('listbox', { name: 'Commands' });
  expect(await commandList.getByRole('option').count()).toBe(2);
  await alice.expectAccessible('the list of commands');
  await composer.press('ArrowDown');
  expect(await commandList.getByRole('option', { selected: true }).textContent()).toContain('restore');
  await composer.press('ArrowUp');
  await composer.press('Tab');
  expect(await composer.inputValue()).toBe('/domain renew ');
  await page.getByText('NAME… [PERIOD]').waitFor();
  await composer.pressSequentially('cafe.rest');
  await composer.press('Enter');
  await alice.message('did renew cafe.rest').getByText('Only visible to you').waitFor();
  await composer.pressSequentially('/domain he');
  await composer.press('Enter');
  await composer.press('Enter');
  await alice.message('did help').waitFor();
  expect(commandTexts).toEqual(['renew cafe.rest', 'help']);
});

test('arrow keys move through messages, and a message’s menu runs a shortcut', async () => {
  const shortcutMessages: string[] = [];
  runningApp.app.shortcut('domain_here', async ({ ack, shortcut }) => {
    await ack();
    if (shortcut.type === 'message_action') shortcutMessages.push(shortcut.message['text'] ?? '');
  });
  for (const text of ['first', 'second', 'third']) workspace.as('U0BOB').say(DOMAINS_CHANNEL, text);
  const third = alice.message('third');
  await third.focus();
  await alice.page.keyboard.press('ArrowUp');
  await alice.page.keyboard.press('ArrowUp');
  const first = alice.message('first');
  await expectFocus(first, 'the message has the focus');
  await first.getByRole('button', { name: 'More actions' }).press('Enter');
  await expectFocus(alice.page.getByRole('menuitem', { name: 'Domain task…' }), 'the menu has the focus');
  await alice.expectAccessible('the menu of a message');
  await alice.page.keyboard.press('Enter');
  await expect.poll(() => shortcutMessages).toEqual(['first']);
  await first.getByRole('button', { name: 'Reply in thread' }).click();
  await alice.thread.getByRole('textbox').fill('an answer');
  await alice.thread.getByRole('textbox').press('Enter');
  await first.getByRole('button', { name: '1 reply' }).waitFor();
  await alice.thread.getByRole('textbox').fill('/domain help');
  await alice.thread.getByRole('textbox').press('Enter');
  await alice.page.getByRole('alert').getByText('do not work in threads').waitFor();
});

test('a form keeps typed text when the app updates it, and shows errors next to the fields', async () => {
  const input = (name: string, element: object, properties: object = {}) => ({
    type: 'input',
    block_id: name,
    label: plainText(name),
    element: { action_id: name, ...element },
    ...properties,
  });
  const options = [
    { text: plainText('One'), value: 'one' },
    { text: plainText('Two'), value: 'two' },
  ];
  const buildView = (hasExtraField: boolean) => ({
    type: 'modal' as const,
    callback_id: 'all',
    title: { type: 'plain_text' as const, text: 'All inputs' },
    submit: { type: 'plain_text' as const, text: 'Go' },
    blocks: [
      input(
        'kind',
        { type: 'static_select', options, initial_option: options[0] },
        { dispatch_action: true },
      ),
      input('name', { type: 'plain_text_input' }, { hint: plainText('A domain name') }),
      input('names', { type: 'plain_text_input', multiline: true }, { optional: true }),
      input('mail', { type: 'email_text_input' }, { optional: true }),
      input('picks', { type: 'multi_static_select', options }, { optional: true }),
      input('boxes', { type: 'checkboxes', options }, { optional: true }),
      ...(hasExtraField ? [input('extra', { type: 'number_input', is_decimal_allowed: false })] : []),
    ],
  });
  let submitted: unknown;
  let valuesOnChange: unknown;
  runningApp.app.command('/domain', async ({ ack, command, client }) => {
    await ack();
    await client.views.open({
      trigger_id: command.trigger_id,
      view: JSON.parse(JSON.stringify(buildView(false))),
    });
  });
  runningApp.app.action('kind', async ({ ack, body, client }) => {
    await ack();
    if (!('view' in body) || body.view === undefined) return;
    valuesOnChange = body.view.state.values;
    await client.views.update({ view_id: body.view.id, view: JSON.parse(JSON.stringify(buildView(true))) });
  });
  runningApp.app.view('all', async ({ ack, view: { state } }) => {
    const { name } = state.values;
    if (name?.['name']?.value === 'bad')
      return ack({ response_action: 'errors', errors: { name: 'Not that one.' } });
    submitted = state.values;
    return ack();
  });

  await alice.typeAndSend('/domain help');
  const { dialog } = alice;
  await dialog.getByLabel('name', { exact: true }).fill('bad');
  await dialog.getByRole('group', { name: 'picks' }).getByLabel('Two').check();
  await dialog.getByRole('group', { name: 'boxes' }).getByLabel('One').check();
  await dialog.getByLabel('kind').selectOption('two');
  await dialog.getByLabel('extra').waitFor();
  await alice.expectAccessible('a form with every input');
  expect(await dialog.getByLabel('name', { exact: true }).inputValue()).toBe('bad');
  expect(valuesOnChange, 'the app also gets the other fields').toMatchObject({
    name: { name: { value: 'bad' } },
  });

  await dialog.getByLabel('extra').press('Enter');
  await dialog.getByText('Please complete this required field.').waitFor();
  await expectFocus(dialog.getByLabel('extra'), 'the field has the focus');
  await dialog.getByLabel('extra').fill('7');
  await dialog.getByRole('button', { name: 'Go' }).click();
  await dialog.getByText('Not that one.').waitFor();
  await dialog.getByLabel('name', { exact: true }).fill('good.rest');
  await dialog.getByLabel('names').fill('a\nb');
  await dialog.getByRole('button', { name: 'Go' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(submitted).toMatchObject({
    kind: { kind: { selected_option: { value: 'two' } } },
    name: { name: { value: 'good.rest' } },
    names: { names: { value: 'a\nb' } },
    picks: { picks: { selected_options: [{ value: 'two' }] } },
    boxes: { boxes: { selected_options: [{ value: 'one' }] } },
    extra: { extra: { value: '7' } },
  });
  await expectFocus(alice.composer, 'the focus returns to the composer');
});

test('a narrow screen shows one pane at a time', async () => {
  workspace.as('U0BOB').say(DOMAINS_CHANNEL, 'hello');
  const { page } = alice;
  await page.setViewportSize({ width: 380, height: 720 });
  await alice.message('hello').waitFor();
  expect(await page.getByRole('navigation').isVisible()).toBe(false);
  const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  expect(await page.evaluate(overflow), 'the page fits the screen').toBe(0);
  await alice.expectAccessible('a narrow channel');
  await alice.message('hello').hover();
  await alice.message('hello').getByRole('button', { name: 'Reply in thread' }).click();
  await alice.thread.waitFor();
  expect(await alice.channel.isVisible()).toBe(false);
  await alice.expectAccessible('a narrow thread');
  await page.getByRole('button', { name: 'Close the thread' }).click();
  await page.getByRole('button', { name: 'Back to the list of channels' }).click();
  expect(await alice.channel.isVisible()).toBe(false);
  await alice.expectAccessible('the narrow list of channels');
  await page.getByRole('button', { name: /general/ }).click();
  await page.getByRole('heading', { level: 2, name: '#general' }).waitFor();
});

test('the URL selects a message and the person', async () => {
  const { page } = alice;
  const linkedMessage = await call(workspace, 'chat.postMessage', {
    channel: DOMAINS_CHANNEL,
    text: 'linked to',
  });
  const { ts } = linkedMessage;
  const { permalink } = await call(workspace, 'chat.getPermalink', {
    channel: DOMAINS_CHANNEL,
    message_ts: ts,
  });
  await call(workspace, 'chat.postMessage', { channel: 'C0GENERAL', text: `see <${permalink}|there>` });
  await alice.goToChannel('general');
  await alice.message('see there').getByRole('link', { name: 'there' }).click();
  await expectFocus(alice.message('linked to'), 'the linked message is shown');
  await page.goBack();
  await alice.message('see there').waitFor();

  await page.getByLabel('You are').selectOption('U0BOB');
  await expect.poll(() => page.url()).toContain('#as=U0BOB');
  await page.goto(String(permalink));
  await expectFocus(alice.message('linked to'), 'the linked message is shown after a reload');
  expect(await page.getByLabel('You are').inputValue(), 'the window keeps its person').toBe('U0BOB');
});

test('the page says that the workspace is down, and reconnects when it is back', async () => {
  const port = Number(new URL(workspace.url).port);
  await workspace.close();
  await alice.page.getByRole('alert').getByText('does not answer').waitFor();
  workspace = await startWorkspace({ port });
  workspace.as('U0BOB').say(DOMAINS_CHANNEL, 'back again');
  await alice.message('back again').waitFor();
  await alice.page.getByRole('alert').waitFor({ state: 'detached' });
  alice.discardProblems();
});
