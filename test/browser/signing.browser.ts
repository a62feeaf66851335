import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSigningHelpers, extractAddress, PUBLIC_SITE } from '../flows/signing-rig.ts';
import { Authenticator } from '../support/authenticator.ts';
import { useTestDemo } from '../support/demo.ts';
import { requestByCommand } from '../support/orders.ts';
import { PasskeyBrowser } from './desk.ts';
import { launchBrowser } from './windows.ts';

/*
 * Two people enroll, vouch, sign and revoke with Chromium's virtual authenticators. The root's key is created
 * first, so that the bot can start with its fingerprint, and then added to Ada's authenticator.
 */

const root = new Authenticator(PUBLIC_SITE);
const t = useTestDemo({
  settings: { PORT: new URL(PUBLIC_SITE.origin).port, ADMINS: 'U0ADA', SIGNING_ROOTS: root.fingerprint },
});
const people = createSigningHelpers(t);
let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
  await people.enroll(t.ada, root);
});
afterAll(() => browser?.close());

test('a person adds a passkey, gets it vouched for, signs with it, and revokes it', async () => {
  const [ada, bob] = [
    await PasskeyBrowser.open(browser, 1_200, root),
    await PasskeyBrowser.open(browser, 390),
  ];
  const addedText = await bob.openAndSubmit(
    await people.getKeyLink(t.bob, 'key_add'),
    'Add this passkey',
    'Added',
  );
  const [key = ''] = /SHA256:[A-Za-z0-9_-]{43}/.exec(addedText) ?? [];
  expect(key).not.toBe('');
  await ada.openAndSubmit(await people.getKeyLink(t.ada, 'key_vouch', key), 'Vouch', 'Vouched');

  const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
  const address = extractAddress(
    await people.actAndReadReply(t.bob, () => t.bob.click(order.card, 'order_sign')),
  );
  await bob.page.goto(address);
  expect(await bob.page.locator('main').textContent()).toContain('POST /domain/cafe.rest/_renew');
  // Times are in the reader's time zone, with the offset.
  expect(await bob.page.locator('time').first().innerText()).toMatch(/ GMT\+[12]$/);
  await bob.openAndSubmit(address, 'Sign', 'Signed');
  await order.waitForResult('SUCCEEDED');
  await bob.page.goto(address);
  expect(await bob.page.locator('main').innerText()).toContain('was already used');

  await bob.openAndSubmit(await people.getKeyLink(t.bob, 'key_revoke', key), 'Revoke', 'Revoked');
  expect(await people.showKeys(t.bob)).toContain('revoked');
  // The browser logs status 410 as an error when a used link is opened.
  const unexpected = [...ada.errors, ...bob.errors].filter((problem) => !problem.includes('410'));
  expect(unexpected).toEqual([]);
});
