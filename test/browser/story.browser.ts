import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { CHARGED_TASKS } from '../support/settings.ts';
import { type BrowserDemo, startBrowserDemo } from './demo.ts';
import { expectFocus, launchBrowser, Window } from './windows.ts';

/* People use the bot in a real browser. */

let browser: Browser;
let demo: BrowserDemo;
const openWindows: Window[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
});
beforeEach(async () => {
  demo = await startBrowserDemo({ settings: { SERVICE_TIMEOUT: '1s', APPROVAL_TASKS: CHARGED_TASKS } });
});
afterEach(async () => {
  // Windows close first: their requests to a stopped workspace would count as failures.
  for (const window of openWindows.splice(0)) await window.close();
  await demo.stop();
});
afterAll(() => browser.close());

async function openWindow(person: string): Promise<Window> {
  const window = await Window.open(browser, demo.url, person);
  openWindows.push(window);
  return window;
}

const listRenewals = (name: string) => demo.service.requestsFor({ task: 'domain.renew', name });

test('one person requests an order, and another sees it arrive in their window and approves it', async () => {
  const alice = await openWindow('U0ALICE');
  const bob = await openWindow('U0BOB');
  await bob.goToChannel('general');
  await alice.linkAccount('alice, context 4');
  await alice.typeAndSend('/domain renew cafe.rest 2 -- client paid');

  const unread = bob.page.getByRole('navigation').getByRole('button', { name: /domains.* for you/ });
  await unread.waitFor();
  await bob.expectAccessible('a channel with unread messages');
  await bob.goToChannel('domains');
  const card = bob.message('Renew cafe.rest for 2 years');
  await card.getByText('client paid').waitFor();
  await card.getByRole('button', { name: 'Approve: Renew cafe.rest for 2 years' }).click();

  const renewed = alice.message(/Renewed cafe\.rest.*approved by @Bob/);
  await renewed.waitFor();
  await alice.openThread(renewed);
  await alice
    .message(/The service says: S0105/, 'thread')
    .first()
    .waitFor();
  expect(listRenewals('cafe.rest')).toHaveLength(1);

  await bob.page.getByRole('button', { name: /^Requests/ }).click();
  const request = bob.page.getByRole('region', { name: 'Requests', exact: true }).getByText('_renew');
  await request.click();
  await bob.page.getByRole('definition').filter({ hasText: 'alice, context 4' }).first().waitFor();
  await bob.expectAccessible('the requests beside the chat');
});

test('a denial with a reason sends nothing', async () => {
  const alice = await openWindow('U0ALICE');
  const bob = await openWindow('U0BOB');
  await alice.linkAccount('alice, context 4');
  await alice.typeAndSend('/domain renew bar.rest');

  await bob.message('Renew bar.rest').getByRole('button', { name: /^Deny/ }).click();
  await bob.dialog.getByRole('heading', { name: 'Deny this order' }).waitFor();
  await bob.expectAccessible('the denial form');
  await bob.dialog.getByLabel('Reason').fill('We let it go');
  await bob.dialog.getByRole('button', { name: 'Deny' }).click();
  await bob.dialog.waitFor({ state: 'detached' });

  const card = alice.message('Renew bar.rest');
  await card
    .getByText(/Denied/)
    .first()
    .waitFor();
  await expect.poll(() => card.getByRole('button', { name: /^Approve: / }).count()).toBe(0);
  await alice.openThread(card);
  await alice
    .message(/We let it go/, 'thread')
    .last()
    .waitFor();
  expect(listRenewals('bar.rest')).toEqual([]);
});

test('a two-factor account is linked with its shared secret, but can’t be used for a renewal', async () => {
  const alice = await openWindow('U0ALICE');
  await alice.typeAndSend('/domain link');
  const { dialog } = alice;
  await dialog.getByLabel('User name').fill('tina');
  await dialog
    .getByLabel('Sign-in method')
    .selectOption({ label: 'User name, password and two-factor token' });
  await dialog.getByLabel(/^Shared secret/).waitFor();
  expect(await dialog.getByLabel('User name').inputValue(), 'typed values are kept').toBe('tina');

  await dialog.getByLabel('Password').fill('wrong');
  await dialog.getByLabel(/^Token/).fill('12');
  await dialog.getByRole('button', { name: 'Link', exact: true }).click();
  await dialog.getByText('A token has six digits.').waitFor();
  expect(await dialog.getByLabel(/^Token/).getAttribute('aria-invalid')).toBe('true');
  await alice.expectAccessible('a form with an error at a field');

  await dialog.getByRole('button', { name: 'tina, context 4' }).click();
  await dialog.getByLabel(/^Token/).fill('');
  await dialog.getByRole('button', { name: 'Link', exact: true }).click();
  await alice.message(/Linked: tina in context 4/).waitFor();
  await alice.typeAndSend('/domain renew cafe.rest');
  await alice
    .message(/two-factor/i)
    .last()
    .waitFor();
  expect(listRenewals('cafe.rest')).toEqual([]);
});

test('a secret is shown once, to its requester', async () => {
  const alice = await openWindow('U0ALICE');
  const bob = await openWindow('U0BOB');
  await alice.linkAccount('alice, context 4');
  await alice.typeAndSend('/domain authcode deli.rest');
  const card = alice.message(/Got the auth code for deli\.rest/);
  await alice.openThread(card);
  const revealButton = alice.thread.getByRole('button', { name: 'Show the auth code once' });
  await revealButton.waitFor();

  await bob.openThread(bob.message(/Got the auth code for deli\.rest/));
  await bob.thread.getByRole('button', { name: 'Show the auth code once' }).click();
  await bob.page.getByText(/Only visible to you/).waitFor();
  expect(await bob.dialog.count()).toBe(0);

  await revealButton.click();
  await alice.dialog.getByRole('heading', { name: 'Auth code' }).waitFor();
  const secret = await alice.dialog.locator('pre').textContent();
  if (!secret) throw new Error('the dialog shows no secret');
  await alice.expectAccessible('a secret in its dialog');
  await alice.page.keyboard.press('Escape');
  await alice.dialog.waitFor({ state: 'detached' });
  await expectFocus(revealButton, 'the focus returns to the button');
  await revealButton.click();
  await alice.page
    .getByText(/Only visible to you/)
    .last()
    .waitFor();
  expect(await alice.dialog.count()).toBe(0);
  for (const { page } of [alice, bob]) expect(await page.content()).not.toContain(secret);
});

test('a service outage leaves an unknown outcome, which an approver resolves', async () => {
  const alice = await openWindow('U0ALICE');
  const bob = await openWindow('U0BOB');
  await alice.linkAccount('alice, context 4');
  demo.service.faults.set({ kind: 'drop_after', match: { task: 'domain.renew' } });
  await alice.typeAndSend('/domain renew cafe.rest');
  await bob
    .message('Renew cafe.rest')
    .getByRole('button', { name: /^Approve: / })
    .click();

  const card = bob.message('Renew cafe.rest');
  await card
    .getByText(/Outcome unknown/)
    .first()
    .waitFor();
  await bob.page.getByRole('button', { name: /^Requests/ }).click();
  await bob.page.getByText('no answer', { exact: true }).waitFor();
  await card.getByRole('button', { name: /^Mark as done: / }).click();
  await bob.dialog.getByLabel('Reason').fill('The service lists it');
  await bob.dialog.getByRole('button', { name: 'Mark as done' }).click();

  const renewed = alice.message(/Renewed cafe\.rest/);
  await renewed.first().waitFor();
  await alice.openThread(renewed.first());
  await alice
    .message(/The service lists it/, 'thread')
    .last()
    .waitFor();
  expect(listRenewals('cafe.rest'), 'the renewal was sent once').toHaveLength(1);
});

test('an admin picks approvers, approver groups and the reminder channel by name', async () => {
  const ada = await openWindow('U0ADA');
  await ada.typeAndSend('/domain settings');
  const { dialog } = ada;
  const approverPicker = dialog.getByRole('group', { name: 'Approvers', exact: true });
  await expect.poll(() => approverPicker.getByLabel('Bob').isChecked()).toBe(true);
  await approverPicker.getByLabel('Carol').check();
  await dialog.getByRole('group', { name: 'Approver groups', exact: true }).getByLabel('Approvers').uncheck();
  await dialog.getByLabel('Reminder channel').selectOption('#general');
  await ada.expectAccessible('the settings with their pickers');
  const formText = await dialog.innerText();
  expect(formText, 'no id is shown').not.toMatch(/\b[UCS]0[A-Z]{2,}/);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await ada.message(/I saved these settings/).waitFor();
  await ada.goToChannel('general');
  await ada.message('Expiry reminders will now be posted here').waitFor();
});

test('a new person finds the first steps on the Home tab and links an account there', async () => {
  const carol = await openWindow('U0CAROL');
  await carol.page.getByRole('button', { name: 'Domain Steward' }).click();
  await carol.page.getByRole('heading', { name: 'First steps' }).waitFor();
  await carol.expectAccessible('the first steps');
  await carol.page.getByRole('button', { name: 'Link your account' }).click();
  await carol.dialog.getByRole('button', { name: 'bob, context 4' }).click();
  await carol.dialog.getByRole('button', { name: 'Link', exact: true }).click();
  await carol.page.getByText('Your account:').waitFor();
});
