import axe from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Authenticator } from '../support/authenticator.ts';
import { addVirtualAuthenticator } from './virtual-authenticator.ts';

/** A person's own browser, with a virtual authenticator that approves everything. */
export class PasskeyBrowser {
  readonly page: Page;
  readonly errors: string[] = [];
  readonly #context: BrowserContext;

  private constructor(context: BrowserContext, page: Page) {
    this.#context = context;
    this.page = page;
    page.on('console', (message) => {
      if (message.type() === 'error') this.errors.push(message.text());
    });
    page.on('pageerror', (error) => this.errors.push(error.message));
  }

  static async open(browser: Browser, width: number, passkey?: Authenticator): Promise<PasskeyBrowser> {
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      timezoneId: 'Europe/Berlin',
    });
    const page = await context.newPage();
    const { devtools, authenticatorId } = await addVirtualAuthenticator(page);
    if (passkey !== undefined)
      await devtools.send('WebAuthn.addCredential', {
        authenticatorId,
        credential: {
          credentialId: Buffer.from(passkey.credential, 'base64url').toString('base64'),
          isResidentCredential: false,
          rpId: 'localhost',
          privateKey: passkey.privateKey().toString('base64'),
          signCount: 1,
        },
      });
    return new PasskeyBrowser(context, page);
  }

  /** Opens an address, presses the button by keyboard, and waits for the heading. @returns the page's text */
  async openAndSubmit(address: string, button: string, heading: string): Promise<string> {
    await this.page.goto(address);
    await this.expectAccessible();
    const fitsWindow = await this.page.evaluate('document.documentElement.scrollWidth <= window.innerWidth');
    expect(fitsWindow, 'the page fits the window').toBe(true);
    await this.page.getByRole('button', { name: button }).focus();
    await this.page.keyboard.press('Enter');
    await this.page.getByRole('heading', { name: heading, exact: true }).waitFor({ timeout: 10_000 });
    await this.expectAccessible();
    return this.page.locator('main').innerText();
  }

  async expectAccessible(): Promise<void> {
    // The content security policy allows only the page's own scripts, so axe is injected through DevTools.
    const devtools = await this.#context.newCDPSession(this.page);
    await devtools.send('Runtime.evaluate', { expression: axe.source });
    const { result } = await devtools.send('Runtime.evaluate', {
      expression: 'axe.run().then(({ violations }) => JSON.stringify(violations.map(({ id }) => id)))',
      awaitPromise: true,
    });
    expect(result.value).toBe('[]');
  }
}
