/// <reference lib="dom" />

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSigningHelpers, extractAddress, PUBLIC_SITE } from '../flows/signing-rig.ts';
import { Authenticator } from '../support/authenticator.ts';
import { openForm, useTestDemo } from '../support/demo.ts';
import { waitForOrder } from '../support/orders.ts';
import { launchBrowser } from './windows.ts';

/* The signing page of an order for 2,000 names. */

const NAME_COUNT = 2_000;
const root = new Authenticator(PUBLIC_SITE);
const t = useTestDemo({
  settings: { PUBLIC_URL: PUBLIC_SITE.origin, SIGNING_ROOTS: root.fingerprint, APPROVERS: 'U0BOB' },
});
const people = createSigningHelpers(t);
let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
  await people.enroll(t.bob, root);
});
afterAll(() => browser?.close());

test('the signing page lists 2,000 names, unusual ones first, and can filter them', async () => {
  const names = Array.from({ length: NAME_COUNT }, (_, index) => `name-${index + 1}.rest`);
  for (const name of names) t.service.state.addDomain({ name, context: 4 });
  const form = await openForm(t.workspace, t.alice, '/domain bulk renew');
  const ephemeralCount = t.alice.ephemerals().length;
  // One name has a longer period than all others.
  const rows = names.map((name, index) => `${name},${index === 1_233 ? 9 : 1}`);
  await t.alice.submit(form, { file: [t.alice.upload('names.csv', ['name,period', ...rows].join('\n'))] });
  const plan = await t.workspace.waitFor(() => t.alice.ephemerals()[ephemeralCount], {
    what: 'the plan',
    timeoutMs: 30_000,
  });
  const order = await waitForOrder(t.workspace, () => t.alice.click(plan, 'order_confirm'));
  const address = extractAddress(
    await people.actAndReadReply(t.bob, () => t.bob.click(order.card, 'order_sign')),
  );
  const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
  // Viewing needs no passkey, so another origin is fine.
  await page.goto(address.replace(PUBLIC_SITE.origin, t.botUrl));
  expect(await page.locator('#rows > li').count()).toBe(NAME_COUNT);
  expect(await page.locator('#rows > li').first().innerText(), 'the outlier comes first').toContain(
    'name-1234.rest',
  );
  expect(await page.locator('main').innerText()).toMatch(/1 name with an unusual period: name-1234\.rest/);
  const filter = page.getByLabel(`Filter the ${NAME_COUNT} names`);
  await filter.fill('name-77.rest');
  expect(await page.locator('#rows > li:visible').allInnerTexts()).toEqual([
    expect.stringContaining('POST /domain/name-77.rest/_renew'),
  ]);
  expect(await page.locator('#count').innerText()).toBe(`1 of ${NAME_COUNT}`);
  await filter.fill('');
  expect(await page.locator('#rows > li:visible').count()).toBe(NAME_COUNT);
  const fitsWindow = await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
  expect(fitsWindow, 'the page fits the window').toBe(true);
});
