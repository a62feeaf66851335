import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type PageDemo, startBrowserDemo } from './demo.ts';
import { Desk } from './desk.ts';
import { launchBrowser, Window } from './windows.ts';

/* The guided paths, followed by clicking only what is highlighted, and a bulk renewal from the digest. */

let browser: Browser;
let demo: PageDemo;
let window: Window;

beforeAll(async () => {
  browser = await launchBrowser();
});
beforeEach(async () => {
  demo = await startBrowserDemo({ lived: true });
  window = await Window.open(browser, demo.url, 'U0ALICE');
});
afterEach(async () => {
  await window.close();
  await demo.stop();
});
afterAll(() => browser.close());

/** The highlighted element with this text. */
function findNext(text: string | RegExp) {
  return window.page.locator('.next').filter({ hasText: text });
}

async function clickNext(text: string | RegExp): Promise<void> {
  await findNext(text).click();
}

async function waitForStep(title: string): Promise<void> {
  await window.page.locator('[aria-current=step]').filter({ hasText: title }).waitFor();
}

test('the guided path leads from the first command to the expiry digest', async () => {
  const { page } = window;
  await waitForStep('Link an account');
  await window.expectAccessible('the first visit');
  await clickNext('/domain link');
  await clickNext('Send');
  await clickNext('alice, context 4');
  await window.expectAccessible('the form to link an account');
  await clickNext('Link');

  await waitForStep('Request a renewal');
  await clickNext('/domain renew cafe.rest 2');
  await clickNext('Send');

  await waitForStep('Approve it');
  const sent = () => demo.service.requestsFor({ task: 'domain.renew', name: 'cafe.rest' });
  expect(sent()).toEqual([]);
  await findNext('You are').getByLabel('You are').selectOption('U0BOB');
  await clickNext(/^Approve$/);

  await waitForStep('Read the result');
  await clickNext(/\d+ repl(?:y|ies)/);
  await window
    .message(/The service says/, 'thread')
    .last()
    .waitFor();
  expect(sent()).toHaveLength(1);
  await window.expectAccessible('a result in its thread');

  await waitForStep('See what expires');
  await clickNext('+7 days');
  await clickNext('domain-expiry');
  await window.message(/names? needs? a decision/).waitFor();
  await page.getByText('That’s the whole path.').waitFor();
  await window.expectAccessible('the digest');
  expect(await page.locator('.next').count(), 'nothing is highlighted any more').toBe(0);
  await page.getByRole('button', { name: 'Next: lose a domain' }).click();
  await waitForStep('Delete a name in use');

  await page.getByRole('button', { name: 'Close the guided path' }).click();
  await page.reload();
  await window.composer.waitFor();
  expect(await page.getByRole('region', { name: 'Guided path' }).count(), 'it stays closed').toBe(0);
});

test('the second path leads from a blocked deletion to a theft alarm', async () => {
  const { page, dialog } = window;
  await window.link('alice, context 4');
  await page.getByLabel('Choose a path').selectOption('Lose a domain');
  await waitForStep('Delete a name in use');
  await clickNext('/domain delete cafe.rest');
  await clickNext('Send');

  await waitForStep('See what stops you');
  await clickNext('Yes, delete it');
  await dialog.getByText(/stop/).first().waitFor();
  await window.expectAccessible('the form that asks to type the name');
  await dialog.getByRole('button', { name: 'Close' }).first().click();

  await waitForStep('Let it be stolen');
  await window.expectAccessible('the second path');
  await clickNext('Let cafe.rest be stolen');
  await page.locator('[aria-current=step]').filter({ hasText: 'See the alarm' }).waitFor({ timeout: 60_000 });
  await clickNext('domain-expiry');
  await clickNext(/\d+ repl(?:y|ies)/);
  await window.message(/What not to do/, 'thread').waitFor();
  await waitForStep('See the webhooks');
  await clickNext(/^Webhooks/);
  const webhooks = page.getByRole('region', { name: 'Webhooks', exact: true });
  const opened = webhooks.getByRole('group').filter({ hasText: /^incident\.opened.*cafe\.rest/ });
  await opened.waitFor();
  expect(await opened.count(), 'a theft opens one incident').toBe(1);
  await opened.getByText('incident.opened').first().click();
  await webhooks.locator('[open]').getByText('"name": "cafe.rest"').waitFor();
  await window.expectAccessible('the webhooks beside the chat');
  await page.getByText('That’s how a theft is reported.').waitFor();
  await window
    .message(/Elsewhere Registrar/)
    .first()
    .waitFor({ timeout: 60_000 });
  expect(demo.service.requestsFor({ task: 'domain.delete' }), 'nothing was deleted').toEqual([]);
}, 180_000);

test('the third path leads from a passkey to a signature and a revocation', async () => {
  const { page } = window;
  const desk = await Desk.open(browser, 390);
  const switchTo = (id: string) => page.getByLabel('You are').selectOption(id);
  /** The address in the newest message with this text. */
  const linkIn = async (text: string) => {
    // The first link: the key is retired, or revoked as compromised.
    const link = window.message(text).last().getByRole('link').first();
    return (await link.getAttribute('href')) ?? '';
  };
  await page.getByLabel('Choose a path').selectOption('Sign it');

  await waitForStep('Add a passkey');
  await switchTo('U0BOB');
  await clickNext('/domain key');
  await clickNext('Send');
  await clickNext('Add a passkey');
  await window.expectAccessible('the message that links to a passkey');
  await desk.openAndSubmit(await linkIn('Add a passkey here'), 'Add this passkey', 'Added');

  await waitForStep('Vouch for it');
  await switchTo('U0ADA');
  await clickNext('/domain key');
  await clickNext('Send');
  await clickNext('Vouch for it');
  await clickNext('Use Ada’s passkey');

  await waitForStep('Request a renewal');
  await switchTo('U0CAROL');
  await clickNext('/domain renew menu.example');
  await clickNext('Send');

  await waitForStep('Sign it');
  const sent = () => demo.service.requestsFor({ task: 'domain.renew', name: 'menu.example' });
  await switchTo('U0BOB');
  await clickNext('Sign');
  const signingPageText = await desk.openAndSubmit(
    await linkIn('Review what will be sent'),
    'Sign',
    'Signed',
  );
  expect(signingPageText).toContain('Signed');

  await waitForStep('See the result');
  await clickNext(/\d+ repl(?:y|ies)/);
  expect(sent()).toHaveLength(1);

  await waitForStep('Revoke it');
  await clickNext('/domain key');
  await clickNext('Send');
  await clickNext('Revoke it');
  await desk.openAndSubmit(await linkIn('Retire it here'), 'Revoke', 'Revoked');
  await page.getByText('That’s a signed approval.').waitFor();
  await page.setViewportSize({ width: 390, height: 800 });
  await window.expectAccessible('the end of the third path, on a phone');
  expect(desk.problems).toEqual([]);
});

test('the fourth path leads through three weeks of renewals by a mandate', async () => {
  const { page } = window;
  await page.getByLabel('Choose a path').selectOption('Go on holiday');

  await waitForStep('See the mandate');
  await page.getByLabel('You are').selectOption('U0CAROL');
  await clickNext('/domain mandates');
  await clickNext('Send');

  await waitForStep('Let time pass');
  await clickNext('Let three weeks pass');
  await page.locator('[aria-current=step]').filter({ hasText: 'Stop one' }).waitFor({ timeout: 90_000 });
  await clickNext('domain-expiry');
  const day = window.message(/Mandates will renew 3 names starting tomorrow/);
  await day.getByText(/garden\.example: its price is above the maximum.*asks for approval/).waitFor();
  await clickNext(/^Stop$/);

  await waitForStep('Let them be renewed');
  await clickNext('Let two days pass');
  await page
    .locator('[aria-current=step]')
    .filter({ hasText: 'Read what it did' })
    .waitFor({ timeout: 60_000 });
  await clickNext(/\d+ repl(?:y|ies)/);
  await page.getByText('That’s a mandate.').waitFor();
  await window.expectAccessible('the end of the fourth path');
  const renewed = ['garden.rest', 'terrace.rest', 'summer.rest', 'garden.example'].filter(
    (name) => demo.service.requestsFor({ task: 'domain.renew', name }).length > 0,
  );
  expect(renewed).toHaveLength(2);
  expect(renewed).not.toContain('garden.example');
}, 240_000);

test('several names are renewed at once from the digest', async () => {
  const { page, dialog } = window;
  await window.link('alice, context 4');
  await page.getByRole('button', { name: '+7 days' }).click();
  await window.goTo('domain-expiry');
  const digest = window.message(/names? needs? a decision/);
  await digest.getByRole('button', { name: 'Renew several…' }).click();
  const names = dialog.getByRole('group', { name: 'Names' });
  await names.getByLabel(/^bakery\.rest/).check();
  await names.getByLabel(/^bar\.rest/).check();
  await dialog.getByRole('button', { name: 'Request' }).click();

  const card = window.message(/Renew 2 names for 1 year/);
  await card
    .getByText(/Waiting for/)
    .first()
    .waitFor();
  await page.getByLabel('You are').selectOption('U0CAROL');
  await card.getByRole('button', { name: /^Approve: / }).click();
  await window
    .message(/Renewed 2 names for 1 year/)
    .first()
    .waitFor();
  const sent = demo.service.requestsFor({ task: 'domain.renew' });
  expect(
    sent
      .slice(-2)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(['bakery.rest', 'bar.rest']);

  await page.getByLabel('You are').selectOption('U0ALICE');
  await page.getByRole('button', { name: 'Domain Steward' }).click();
  await page.getByRole('button', { name: 'Home', exact: true }).click();
  await page.getByRole('heading', { name: 'Expiring next' }).waitFor();
  await window.expectAccessible('the Home tab');
});
