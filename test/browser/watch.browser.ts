import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserDemo, startBrowserDemo } from './demo.ts';
import { launchBrowser, Window } from './windows.ts';

/* Follows the guided path of the demo without a domain service by clicking highlighted elements. */

let browser: Browser;
let demo: BrowserDemo;

beforeAll(async () => {
  browser = await launchBrowser();
  demo = await startBrowserDemo({ watchOnly: true });
});
afterAll(async () => {
  await browser.close();
  await demo.stop();
});

test('the guided path leads from watching names to the first digest', async () => {
  const window = await Window.open(browser, demo.url, 'U0ADA');
  const { page } = window;
  const clickHighlighted = (text: string | RegExp) => page.locator('.next').filter({ hasText: text }).click();
  const waitForStep = (title: string) =>
    page.locator('[aria-current=step]').filter({ hasText: title }).waitFor();

  await waitForStep('Watch names');
  expect(await page.getByLabel('Choose a path').locator('option').allTextContents()).toEqual(['Just watch']);
  await clickHighlighted('/domain watch cafe.rest');
  await clickHighlighted('Send');

  await waitForStep('Get reminders here');
  await window.message(/5 names watched/).waitFor();
  await window.message(/olive\.rest.*no transfer lock/s).waitFor();
  await window.message(/pantry\.rest.*DNSSEC is broken/s).waitFor();
  await window.message(/deli\.rest.*certificate has expired/s).waitFor();
  await window.expectAccessible('the first findings');
  await clickHighlighted('Send reminders here');

  await waitForStep('See what to fix');
  await clickHighlighted('/domain posture');
  await clickHighlighted('Send');
  await window.message(/ of 5 names (?:is|are) fine/).waitFor();

  await waitForStep('See what expires');
  await clickHighlighted('+7 days');
  const digest = window.message(/needs? a decision|bar\.rest/).last();
  await digest.waitFor();
  await page.getByText('That’s all it needs.').waitFor();
  await window.expectAccessible('the digest');
  await window.typeAndSend('/domain renew cafe.rest');
  await window.message(/No domain service is connected/).waitFor();
  expect(demo.service.requests.filter(({ task }) => task?.startsWith('rdap.') !== true)).toEqual([]);
  await window.close();
});
