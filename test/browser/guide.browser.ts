import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type BrowserDemo, startBrowserDemo } from './demo.ts';
import { PasskeyBrowser } from './desk.ts';
import { launchBrowser, Window } from './windows.ts';

/* Follows each guided path by clicking highlighted elements. The last test renews names from the digest. */

let browser: Browser;
let demo: BrowserDemo;
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

function findHighlighted(text: string | RegExp) {
  return window.page.locator('.next').filter({ hasText: text });
}

async function clickHighlighted(text: string | RegExp): Promise<void> {
  await findHighlighted(text).click();
}

async function waitForStep(title: string): Promise<void> {
  await window.page.locator('[aria-current=step]').filter({ hasText: title }).waitFor();
}

test('the first path leads from linking an account to the expiry digest', async () => {
  const { page } = window;
  await waitForStep('Link an account');
  await window.expectAccessible('the first visit');
  await clickHighlighted('/domain link');
  await clickHighlighted('Send');
  await clickHighlighted('alice, context 4');
  await window.expectAccessible('the form to link an account');
  await clickHighlighted('Link');

  await waitForStep('Request a renewal');
  await clickHighlighted('/domain renew cafe.rest 2');
  await clickHighlighted('Send');

  await waitForStep('Approve it');
  const listRenewals = () => demo.service.requestsFor({ task: 'domain.renew', name: 'cafe.rest' });
  expect(listRenewals()).toEqual([]);
  await findHighlighted('You are').getByLabel('You are').selectOption('U0BOB');
  await clickHighlighted(/^Approve$/);

  await waitForStep('Read the result');
  await clickHighlighted(/\d+ repl(?:y|ies)/);
  await window
    .message(/The service says/, 'thread')
    .last()
    .waitFor();
  expect(listRenewals()).toHaveLength(1);
  await window.expectAccessible('a result in its thread');

  await waitForStep('See what expires');
  await clickHighlighted('+7 days');
  await clickHighlighted('domain-expiry');
  await window.message(/names? needs? a decision/).waitFor();
  await page.getByText('That’s the whole path.').waitFor();
  await window.expectAccessible('the digest');
  expect(await page.locator('.next').count(), 'nothing is highlighted after the last step').toBe(0);
  await page.getByRole('button', { name: 'Next: lose a domain' }).click();
  await waitForStep('Delete a name in use');

  await page.getByRole('button', { name: 'Close the guided path' }).click();
  await page.reload();
  await window.composer.waitFor();
  expect(await page.getByRole('region', { name: 'Guided path' }).count(), 'the path stays closed').toBe(0);
});

test('the second path leads from a blocked deletion to a theft alarm', async () => {
  const { page, dialog } = window;
  await window.linkAccount('alice, context 4');
  await page.getByLabel('Choose a path').selectOption('Lose a domain');
  await waitForStep('Delete a name in use');
  await clickHighlighted('/domain delete cafe.rest');
  await clickHighlighted('Send');

  await waitForStep('See what stops you');
  await clickHighlighted('Yes, delete it');
  await dialog.getByText(/stop/).first().waitFor();
  await window.expectAccessible('the form that asks for the name');
  await dialog.getByRole('button', { name: 'Close' }).first().click();

  await waitForStep('Let it be stolen');
  await window.expectAccessible('the second path');
  await clickHighlighted('Let cafe.rest be stolen');
  await page.locator('[aria-current=step]').filter({ hasText: 'See the alarm' }).waitFor({ timeout: 60_000 });
  await clickHighlighted('domain-expiry');
  await clickHighlighted(/\d+ repl(?:y|ies)/);
  await window.message(/What not to do/, 'thread').waitFor();
  await waitForStep('See the webhooks');
  await clickHighlighted(/^Webhooks/);
  const webhooks = page.getByRole('region', { name: 'Webhooks', exact: true });
  const openedIncidents = webhooks.getByRole('group').filter({ hasText: /^incident\.opened.*cafe\.rest/ });
  await openedIncidents.waitFor();
  expect(await openedIncidents.count(), 'a theft opens one incident').toBe(1);
  await openedIncidents.getByText('incident.opened').first().click();
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
  const passkeyBrowser = await PasskeyBrowser.open(browser, 390);
  const switchToPerson = (id: string) => page.getByLabel('You are').selectOption(id);
  /** The first link's address in the newest message with this text. */
  const getLinkAddress = async (text: string) => {
    // Messages about revoking have a second link, which revokes the key as compromised.
    const link = window.message(text).last().getByRole('link').first();
    return (await link.getAttribute('href')) ?? '';
  };
  await page.getByLabel('Choose a path').selectOption('Sign it');

  await waitForStep('Add a passkey');
  await switchToPerson('U0BOB');
  await clickHighlighted('/domain key');
  await clickHighlighted('Send');
  await clickHighlighted('Add a passkey');
  await window.expectAccessible('the message with the link to add a passkey');
  await passkeyBrowser.openAndSubmit(await getLinkAddress('Add a passkey here'), 'Add this passkey', 'Added');

  await waitForStep('Vouch for it');
  await switchToPerson('U0ADA');
  await clickHighlighted('/domain key');
  await clickHighlighted('Send');
  await clickHighlighted('Vouch for it');
  await clickHighlighted('Use Ada’s passkey');

  await waitForStep('Request a renewal');
  await switchToPerson('U0CAROL');
  await clickHighlighted('/domain renew menu.example');
  await clickHighlighted('Send');

  await waitForStep('Sign it');
  const listRenewals = () => demo.service.requestsFor({ task: 'domain.renew', name: 'menu.example' });
  await switchToPerson('U0BOB');
  await clickHighlighted('Sign');
  const signingPageText = await passkeyBrowser.openAndSubmit(
    await getLinkAddress('Review what will be sent'),
    'Sign',
    'Signed',
  );
  expect(signingPageText).toContain('Signed');

  await waitForStep('See the result');
  await clickHighlighted(/\d+ repl(?:y|ies)/);
  expect(listRenewals()).toHaveLength(1);

  await waitForStep('Revoke it');
  await clickHighlighted('/domain key');
  await clickHighlighted('Send');
  await clickHighlighted('Revoke it');
  await passkeyBrowser.openAndSubmit(await getLinkAddress('Retire it here'), 'Revoke', 'Revoked');
  await page.getByText('That’s a signed approval.').waitFor();
  await page.setViewportSize({ width: 390, height: 800 });
  await window.expectAccessible('the end of the third path, on a phone');
  expect(passkeyBrowser.errors).toEqual([]);
});

test('the fourth path leads through three weeks of renewals by a mandate', async () => {
  const { page } = window;
  await page.getByLabel('Choose a path').selectOption('Go on holiday');

  await waitForStep('See the mandate');
  await page.getByLabel('You are').selectOption('U0CAROL');
  await clickHighlighted('/domain mandates');
  await clickHighlighted('Send');

  await waitForStep('Let time pass');
  await clickHighlighted('Let three weeks pass');
  await page.locator('[aria-current=step]').filter({ hasText: 'Stop one' }).waitFor({ timeout: 90_000 });
  await clickHighlighted('domain-expiry');
  const announcement = window.message(/Mandates will renew 3 names starting tomorrow/);
  await announcement
    .getByText(/garden\.example: its price is above the maximum.*asks for approval/)
    .waitFor();
  await clickHighlighted(/^Stop$/);

  await waitForStep('Let them be renewed');
  await clickHighlighted('Let two days pass');
  await page
    .locator('[aria-current=step]')
    .filter({ hasText: 'Read what it did' })
    .waitFor({ timeout: 60_000 });
  await clickHighlighted(/\d+ repl(?:y|ies)/);
  await page.getByText('That’s a mandate.').waitFor();
  await window.expectAccessible('the end of the fourth path');
  const renewedNames = ['garden.rest', 'terrace.rest', 'summer.rest', 'garden.example'].filter(
    (name) => demo.service.requestsFor({ task: 'domain.renew', name }).length > 0,
  );
  expect(renewedNames).toHaveLength(2);
  expect(renewedNames).not.toContain('garden.example');
}, 240_000);

test('several names are renewed at once from the digest', async () => {
  const { page, dialog } = window;
  await window.linkAccount('alice, context 4');
  await page.getByRole('button', { name: '+7 days' }).click();
  await window.goToChannel('domain-expiry');
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
  const renewals = demo.service.requestsFor({ task: 'domain.renew' });
  expect(
    renewals
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
