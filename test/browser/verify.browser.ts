import { fileURLToPath } from 'node:url';
import axe, { type AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  canonical,
  type Event,
  hashOfSeal,
  makeLedger,
  makeReceipt,
  STATEMENT,
  sha256,
  textOf,
} from '../../packages/ledger-verify/test/make-ledger.ts';
import { launchBrowser } from './windows.ts';

/*
 * The verifier's page as an auditor uses it: one file, opened from the disk of a machine without a network, on which receipts are dropped.
 */

const PAGE = new URL('../../packages/ledger-verify/dist/verify.html', import.meta.url).href;

const statement = sha256(canonical(STATEMENT)).toString('hex');
const about = { type: 'event' as const, subject: { kind: 'order', id: STATEMENT.order } };
const events: Event[] = ['requested', 'approved', 'sending', 'answered'].map((kind, at) => ({
  ...{ ...about, seq: at + 1, at: `2026-11-01T12:0${at}:00.000Z`, kind },
  ...{ actor: kind === 'approved' ? 'U0BOB' : 'U0ALICE', data: { statement } },
}));
const ledger = makeLedger(events, [2, 2]);
const receipt = textOf(makeReceipt(ledger, STATEMENT.order));
const anchor = `2:${hashOfSeal(ledger.seals[1])}`;

let browser: Browser;
let context: BrowserContext;
let page: Page;
const requests: string[] = [];
const problems: string[] = [];

beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser?.close());
beforeEach(async () => {
  requests.length = 0;
  problems.length = 0;
  context = await browser.newContext({ viewport: { width: 900, height: 900 } });
  await context.setOffline(true);
  page = await context.newPage();
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  await page.goto(PAGE);
});
afterEach(async () => {
  expect(requests, 'nothing but the page itself').toEqual([PAGE]);
  expect(problems).toEqual([]);
  await context.close();
});

/** Drops a file on the page, as a hand does. */
async function drop(name: string, text: string): Promise<void> {
  const dataTransfer = await page.evaluateHandle(
    ([fileName, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], fileName));
      return transfer;
    },
    [name, text] as const,
  );
  for (const type of ['dragover', 'drop']) await page.dispatchEvent('#drop', type, { dataTransfer });
}

const verdict = () => page.getByRole('status').innerText();
const said = (text: string) => expect.poll(verdict, { message: 'the verdict' }).toContain(text);

test('a good receipt is proved, by the key and the anchor that were kept', async () => {
  await page.getByLabel('Fingerprint of the key').fill(ledger.signer.fingerprint);
  await page.getByLabel('Anchors').fill(anchor);
  await drop('receipt.jsonl', receipt);
  await said('receipt.jsonl\nPROVED\n');
  expect(await verdict()).toContain(`4 events of order ${STATEMENT.order} stand in the ledger`);
  expect(await verdict()).toContain('Anchor 2 fits');
});

test.each([
  ['somebody else approved', receipt.replace('U0BOB', 'U0EVE'), 'CHANGED: event 2'],
  ['an event is missing', receipt.replace(/^.*"answered".*\n/m, ''), 'DROPPED: event 4'],
  ['a seal is another one', receipt.replace(String(ledger.seals[1]?.['root']), '0'.repeat(64)), 'CHANGED'],
])('a receipt in which %s is not', async (_what, text, found) => {
  await drop('receipt.jsonl', text);
  await said('NOT PROVED');
  expect(await verdict()).toContain(found);
});

test('one that another key signed, or that another anchor belongs to, is not', async () => {
  const other = makeLedger(events, [4]);
  await page.getByLabel('Fingerprint of the key').fill(other.signer.fingerprint);
  await drop('receipt.jsonl', receipt);
  await said('OTHER KEY');
  await page.getByLabel('Fingerprint of the key').fill('');
  await page.getByLabel('Anchors').fill(`2:${hashOfSeal(other.seals[0])}`);
  await drop('receipt.jsonl', receipt);
  await said('is not the one that was anchored');
});

test('a file that is chosen, and one that is none; with what was told in between', async () => {
  const buffer = Buffer.from(receipt);
  await page
    .getByLabel('Drop a file here, or choose one')
    .setInputFiles({ name: 'r.jsonl', mimeType: '', buffer });
  await said('r.jsonl\nPROVED\n');
  await page.getByLabel('Anchors').fill('2:zz');
  await page.getByLabel('Anchors').blur();
  await said('CANNOT TELL');
  await page.getByLabel('Anchors').fill('');
  await page.getByLabel('certificates of time stamping services').fill(Array(32).fill('9C').join(':'));
  await drop('receipt.jsonl', receipt);
  await said('There is no time stamp in it, so the certificates prove nothing.');
  await drop('holiday.jpg', '\u0000\u0001');
  await said('CANNOT TELL');
});

test('can send nothing anywhere, and can be used without eyes', async () => {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>('axe.run()');
  expect(violations.map(({ id }) => id)).toEqual([]);
  const sent = await page.evaluate(() =>
    fetch('https://example.org/').then(
      () => 'sent',
      () => 'refused',
    ),
  );
  expect(sent).toBe('refused');
  expect(problems.splice(0).join('\n')).toContain('Content Security Policy');
  expect(fileURLToPath(PAGE)).toBe(fileURLToPath(requests[0] ?? ''));
});
