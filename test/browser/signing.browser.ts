import axe from 'axe-core';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addressIn, PUBLIC, signingPeople } from '../flows/signing-rig.ts';
import { Authenticator } from '../support/authenticator.ts';
import { useTestDemo } from '../support/demo.ts';
import { ask } from '../support/orders.ts';
import { launchBrowser } from './windows.ts';

/*
 * Two people with Chromium's virtual authenticators: an enrolment, a vouching, a signature, a revocation. The root's key was made
 * beforehand, so that the bot starts with its fingerprint; it is put into her authenticator.
 */

const root = new Authenticator(PUBLIC);
const t = useTestDemo({
  settings: { PORT: new URL(PUBLIC.origin).port, ADMINS: 'U0ADA', SIGNING_ROOTS: root.fingerprint },
});
const people = signingPeople(t);
let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
  await people.enrol(t.ada, root);
});
afterAll(() => browser?.close());

/** A person's own browser, with a passkey that says yes when it is asked. */
class Desk {
  readonly page: Page;
  readonly problems: string[] = [];
  readonly #context: BrowserContext;

  private constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.page = page;
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(message.text());
    });
    page.on('pageerror', (error) => this.problems.push(error.message));
  }

  static async open(width: number, known?: Authenticator): Promise<Desk> {
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      timezoneId: 'Europe/Berlin',
    });
    const page = await context.newPage();
    const devtools: CDPSession = await context.newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    if (known !== undefined)
      await devtools.send('WebAuthn.addCredential', {
        authenticatorId,
        credential: {
          credentialId: Buffer.from(known.credential, 'base64url').toString('base64'),
          isResidentCredential: false,
          rpId: PUBLIC.id,
          privateKey: known.privateKey().toString('base64'),
          signCount: 1,
        },
      });
    return new Desk(context, page);
  }

  /** Opens an address, looks at the page with axe, and presses its button with the keyboard. */
  async press(address: string, button: string, heading: string): Promise<string> {
    await this.page.goto(address);
    await this.expectAccessible();
    const wide = await this.page.evaluate('document.documentElement.scrollWidth <= window.innerWidth');
    expect(wide, 'nothing goes out of the window').toBe(true);
    await this.page.getByRole('button', { name: button }).focus();
    await this.page.keyboard.press('Enter');
    await this.page.getByRole('heading', { name: heading, exact: true }).waitFor({ timeout: 10_000 });
    await this.expectAccessible();
    return this.page.locator('main').innerText();
  }

  async expectAccessible(): Promise<void> {
    // The page's policy lets no script in but its own, so axe comes past it.
    const devtools = await this.#context.newCDPSession(this.page);
    await devtools.send('Runtime.evaluate', { expression: axe.source });
    const { result } = await devtools.send('Runtime.evaluate', {
      expression: 'axe.run().then(({ violations }) => JSON.stringify(violations.map(({ id }) => id)))',
      awaitPromise: true,
    });
    expect(result.value).toBe('[]');
  }
}

test('somebody adds a passkey, is vouched for, signs, and revokes it', async () => {
  const [ada, bob] = [await Desk.open(1_200, root), await Desk.open(390)];
  const own = await bob.press(await people.keyLink(t.bob, 'key_add'), 'Add this passkey', 'Added');
  const [key = ''] = /SHA256:[A-Za-z0-9_-]{43}/.exec(own) ?? [];
  expect(key).not.toBe('');
  await ada.press(await people.keyLink(t.ada, 'key_vouch', key), 'Vouch', 'Vouched');

  const order = await ask(t.workspace, t.alice, '/domain renew cafe.rest');
  const address = addressIn(await people.told(t.bob, () => t.bob.click(order.card, 'order_sign')));
  await bob.page.goto(address);
  expect(await bob.page.locator('main').innerText()).toContain('POST /domain/cafe.rest/_renew');
  // In the reader's zone, which is not the one that the page comes with.
  expect(await bob.page.locator('time').first().innerText()).not.toContain('UTC');
  await bob.press(address, 'Sign', 'Signed');
  await order.ends('SUCCEEDED');
  await bob.page.goto(address);
  expect(await bob.page.locator('main').innerText()).toContain('used already');

  await bob.press(await people.keyLink(t.bob, 'key_revoke', key), 'Revoke', 'Revoked');
  expect(await people.keysOf(t.bob)).toContain('revoked');
  // A spent link is answered with 410, which browsers note.
  const wrong = [...ada.problems, ...bob.problems].filter((problem) => !problem.includes('410'));
  expect(wrong).toEqual([]);
});
