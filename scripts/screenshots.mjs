// Takes the screenshots for the documentation: `npm run screenshots`. Needs Debian's `chromium`.
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startDemo } from '../dist/demo/demo.js';
import { pageDir } from '../dist/demo/page-files.js';
import { addVirtualAuthenticator } from '../test/browser/virtual-authenticator.ts';
import { smallPng } from './small-png.mjs';

const MAX_BYTES = 200_000;
/** The width of a message, so that its text is readable when the picture is shown at 600 px. */
const WIDTH = 680;
/** Leaves the same width for messages next to the list of channels. */
const WIDE = { width: WIDTH + 220, height: 1_200 };
const NARROW = { width: WIDTH, height: 900 };
const SCALE = 2;
const images = fileURLToPath(new URL('../docs/images', import.meta.url));
const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-screenshots-'));
await mkdir(images, { recursive: true });

const demo = await startDemo({ port: 0, dataDir, pageDir, lived: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
});
const problems = [];
const contextOptions = { deviceScaleFactor: SCALE, colorScheme: 'light', reducedMotion: 'reduce' };
try {
  const page = await browser.newPage({ ...contextOptions, viewport: WIDE });
  const composer = page.getByRole('textbox', { name: /^Message to/ });
  const switchTo = async (person) => {
    await page.getByLabel('You are').selectOption(person);
    // Text typed before the page has switched to the other person would be lost.
    await page.waitForURL((address) => address.hash.includes(person));
  };
  const type = async (text) => {
    await composer.fill(text);
    await composer.press('Enter');
  };
  const findArticle = (hasText) => page.locator('.channel').getByRole('article').filter({ hasText }).last();
  const linkAlice = async () => {
    await page.getByRole('button', { name: 'alice, context 4' }).click();
    await page.getByRole('button', { name: 'Link', exact: true }).click();
    await page.getByText('Linked:').waitFor();
  };

  await page.goto(`${demo.url}#as=U0ALICE`);
  await page.getByLabel('Choose a path').selectOption('Sign it');
  const signerContext = await browser.newContext({ ...contextOptions, viewport: NARROW });
  const signer = await signerContext.newPage();
  await addVirtualAuthenticator(signer);
  const findLink = async (text) => {
    const link = page.getByRole('article').filter({ hasText: text }).last().getByRole('link').first();
    return link.getAttribute('href');
  };
  /** Clicks the next step that the guide marks. */
  const clickNext = (text) => page.locator('.next').filter({ hasText: text }).click();
  await switchTo('U0BOB');
  for (const step of ['/domain key', 'Send', 'Add a passkey']) await clickNext(step);
  await signer.goto(await findLink('Add a passkey here'));
  await signer.getByRole('button', { name: 'Add this passkey' }).click();
  await signer.getByRole('heading', { name: 'Added', exact: true }).waitFor();
  await switchTo('U0ADA');
  for (const step of ['/domain key', 'Send', 'Vouch for it', 'Use Ada’s passkey']) await clickNext(step);
  await switchTo('U0CAROL');
  for (const step of ['/domain renew menu.example', 'Send']) await clickNext(step);
  await switchTo('U0BOB');
  await clickNext('Sign');
  await signer.goto(await findLink('Review what will be sent'));
  await savePicture('signing', [await capture(signer, signer.locator('main'))]);

  await switchTo('U0ALICE');
  await page.getByRole('button', { name: 'Close the guided path' }).click();
  await type('/domain link');
  await linkAlice();
  await type('/domain renew cafe.rest 2 -- client paid');
  const card = findArticle('Renew cafe.rest for 2 years');
  await card.waitFor();
  await switchTo('U0BOB');
  await card.getByRole('button', { name: /^Approve: / }).waitFor();
  const pending = await capture(page, card);
  await savePicture('approval', [pending]);

  await card.getByRole('button', { name: /^Approve: / }).click();
  const done = findArticle('Renewed cafe.rest for 2 years');
  await done.getByRole('button', { name: /^1 reply/ }).click();
  const thread = page.locator('[aria-labelledby=thread-title]').getByRole('article').last();
  // Here the thread takes the whole page.
  await page.setViewportSize(NARROW);
  await thread.waitFor();
  const result = await capture(page, thread);
  await savePicture('result', [result]);
  await savePicture('renewal', [pending, result]);
  await page.getByRole('button', { name: 'Close the thread' }).click();
  await page.setViewportSize(WIDE);

  await switchTo('U0ALICE');
  await page.getByRole('button', { name: 'general', exact: true }).click();
  await type('/domain help');
  await page.getByRole('button', { name: 'All commands' }).waitFor();
  await savePicture('help', [await capture(page, findArticle('All commands'))]);
  await type('/domain posture');
  const posture = findArticle(/names? (?:is|are) fine/);
  await posture.waitFor();
  await savePicture('posture', [await capture(page, posture)]);

  await page.getByRole('button', { name: '+7 days' }).click();
  await page.getByRole('button', { name: 'domain-expiry' }).click();
  const digest = findArticle('Renew several');
  await digest.waitFor();
  await savePicture('digest', [await capture(page, digest)]);

  await page.getByRole('button', { name: 'Guide' }).click();
  await page.getByLabel('Choose a path').selectOption('Lose a domain');
  await page.request.post(`${demo.url}local/theft`, {
    data: {},
    headers: { origin: new URL(demo.url).origin },
  });
  await page.getByRole('button', { name: 'Close the guided path' }).click();
  const incident = findArticle('cafe.rest').and(page.locator(':has(button)'));
  await incident.waitFor();
  await savePicture('incident', [await capture(page, incident)]);
} finally {
  await browser.close();
  await demo.stop();
  // If started by root, the database is elsewhere and linked from here.
  await rm(await realpath(join(dataDir, 'postgres')), { recursive: true, force: true }).catch(
    () => undefined,
  );
  await rm(dataDir, { recursive: true, force: true });
}
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exit(1);
}

async function capture(page, message) {
  // Hover and focus change the rendering.
  await page.mouse.move(0, 0);
  await page.evaluate('document.activeElement.blur()');
  await message.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await message.boundingBox();
  // Leaves out the border of the list of channels.
  const clip = { x: x + 1, y, width: Math.min(width - 1, WIDTH), height };
  return { png: await page.screenshot({ clip }), width: clip.width };
}

/** Saves a picture with the parts stacked on a plain background. */
async function savePicture(name, parts) {
  const page = await browser.newPage({ ...contextOptions, viewport: { width: WIDTH + 48, height: 200 } });
  const imageTags = parts.map(
    ({ png, width }) =>
      `<img width="${width}" src="data:image/png;base64,${png.toString('base64')}" style="display:block;margin:16px auto;border-radius:8px;border:1px solid #d8dbdf">`,
  );
  await page.setContent(
    `<body style="margin:0;background:#eef1f2"><div style="padding:8px 24px">${imageTags.join('')}</div></body>`,
  );
  const picture = smallPng(await page.locator('body').screenshot());
  await page.close();
  const path = join(images, `${name}.png`);
  await writeFile(path, picture);
  if (picture.length > MAX_BYTES)
    problems.push(`${path} is too large: ${picture.length} bytes, at most ${MAX_BYTES} allowed`);
}
