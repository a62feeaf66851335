// Takes the pictures of the README: `npm run build && npm run screenshots`. Needs Debian's `chromium`, and
// `fonts-noto-color-emoji` for the emoji.
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startDemo } from '../dist/demo/demo.js';
import { pageDir } from '../dist/demo/page-files.js';
import { smallPng } from './small-png.mjs';

const LARGEST_BYTES = 150_000;
const images = fileURLToPath(new URL('../docs/images', import.meta.url));
const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-screenshots-'));
await mkdir(images, { recursive: true });

const demo = await startDemo({ port: 0, dataDir, pageDir, lived: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
});
const problems = [];
try {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 }, reducedMotion: 'reduce' });
  const composer = page.getByRole('textbox', { name: /^Message to/ });
  const be = async (person) => {
    await page.getByLabel('You are').selectOption(person);
    // What is typed before the page is somebody else's would be lost.
    await page.waitForURL((address) => address.hash.includes(person));
  };
  const type = async (text) => {
    await composer.fill(text);
    await composer.press('Enter');
  };

  await page.goto(`${demo.url}#as=U0ALICE`);
  await page.getByRole('button', { name: 'Domain Steward' }).click();
  await page.getByRole('heading', { name: 'First steps' }).waitFor();
  await take(page, 'first-steps');
  await page.getByRole('button', { name: /^domains/ }).click();
  await be('U0ADA');
  await type('/domain settings');
  await page.getByRole('dialog').waitFor();
  await take(page, 'settings');
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).first().click();
  await be('U0ALICE');

  await type('/domain link');
  await page.getByRole('button', { name: 'alice, context 4' }).click();
  await page.getByRole('button', { name: 'Link', exact: true }).click();
  await page.getByText('Linked:').waitFor();
  await type('/domain renew cafe.rest 2 -- client paid');
  const card = page.getByRole('article').filter({ hasText: 'Renew cafe.rest for 2 years' });
  await card.waitFor();
  await be('U0BOB');
  await card.getByRole('button', { name: /^Approve: / }).waitFor();
  await take(page, 'approve');

  await card.getByRole('button', { name: /^Approve: / }).click();
  await page
    .getByRole('article')
    .filter({ hasText: 'Renewed cafe.rest for 2 years' })
    .getByRole('button', { name: /^1 reply/ })
    .click();
  await page.getByRole('button', { name: /^Requests/ }).click();
  await page.getByText('_renew').click();
  await page.getByRole('button', { name: 'Close the guided path' }).click();
  await take(page, 'result');

  await page.getByRole('button', { name: 'Close the requests' }).click();
  await page.getByRole('button', { name: 'Guide' }).click();
  await page.getByRole('button', { name: '+7 days' }).click();
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.getByRole('button', { name: 'domain-expiry' }).click();
  await page.getByRole('heading', { name: /to decide about/ }).waitFor();
  await take(page, 'digest');

  await page.emulateMedia({ colorScheme: 'light' });
  await page.getByRole('button', { name: 'Close the guided path' }).click();
  await be('U0ALICE');
  await page.getByRole('button', { name: 'general', exact: true }).click();
  await type('/domain help');
  await page.getByRole('button', { name: 'All commands' }).waitFor();
  await take(page, 'help');
} finally {
  await browser.close();
  await demo.stop();
  // Started by root, the database lies elsewhere and is linked from here.
  await rm(await realpath(join(dataDir, 'postgres')), { recursive: true, force: true });
  await rm(dataDir, { recursive: true, force: true });
}
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exit(1);
}

async function take(page, name) {
  const path = join(images, `${name}.png`);
  // What is under the pointer or has the focus is drawn in another way.
  await page.mouse.move(0, 0);
  await page.evaluate('document.activeElement.blur()');
  const picture = smallPng(await page.screenshot());
  const size = picture.length;
  await writeFile(path, picture);
  if (size > LARGEST_BYTES) problems.push(`${path} has ${size} bytes, more than ${LARGEST_BYTES}`);
}
