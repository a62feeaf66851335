import axe, { type AxeResults } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { expect } from 'vitest';

/** Debian's Chromium, headless and without background requests. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

const AXE_RULE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Waits until the element has the keyboard focus. */
export function expectFocus(locator: Locator, description: string): Promise<void> {
  return expect
    .poll(() => locator.evaluate((element) => element.matches(':focus')), { message: description })
    .toBe(true);
}

/** One person's window, with a record of its errors. */
export class Window {
  readonly page: Page;
  readonly #problems: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    const record = (problem: string): void => void this.#problems.push(problem);
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') record(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => record(`error in the page: ${error.stack ?? error.message}`));
    page.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText ?? '';
      // Navigation aborts running requests.
      if (reason !== 'net::ERR_ABORTED') record(`failed: ${request.url()} ${reason}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400) record(`HTTP ${response.status()}: ${response.url()}`);
    });
    page.on('request', (request) => {
      if (new URL(request.url()).hostname !== '127.0.0.1') record(`external request: ${request.url()}`);
    });
  }

  /** Opens the workspace as a person, in a separate browser context: windows share nothing. */
  static async open(
    browser: Browser,
    url: string,
    person: string,
    options: BrowserContextOptions = {},
  ): Promise<Window> {
    const context = await browser.newContext({ viewport: { width: 1_440, height: 900 }, ...options });
    const window = new Window(await context.newPage());
    window.page.setDefaultTimeout(20_000);
    await window.page.goto(`${url}#as=${person}`);
    await window.composer.waitFor();
    return window;
  }

  /** The channel's pane, without the thread and the list of requests. */
  get channel(): Locator {
    return this.page.locator('.channel');
  }

  get composer(): Locator {
    return this.channel.getByRole('textbox', { name: /^Message to/ });
  }

  get dialog(): Locator {
    return this.page.getByRole('dialog');
  }

  get thread(): Locator {
    return this.page.getByRole('region', { name: 'Thread' });
  }

  /** Messages of the channel, or of the open thread. */
  message(text: string | RegExp, where: 'channel' | 'thread' = 'channel'): Locator {
    const pane = where === 'channel' ? this.channel : this.thread;
    return pane.getByRole('article').filter({ hasText: text });
  }

  async typeAndSend(text: string): Promise<void> {
    await this.composer.fill(text);
    await this.composer.press('Enter');
  }

  async goToChannel(channel: string): Promise<void> {
    await this.page.getByRole('navigation').getByRole('button', { name: channel }).click();
    await this.page.getByRole('heading', { level: 2, name: `#${channel}` }).waitFor();
  }

  async openThread(message: Locator): Promise<void> {
    await message.getByRole('button', { name: /repl(y|ies)/ }).click();
    await this.thread.waitFor();
  }

  /** Links an account with the button that fills in the sandbox's values. */
  async linkAccount(account: string): Promise<void> {
    await this.typeAndSend('/domain link');
    await this.dialog.getByRole('button', { name: account }).click();
    await this.dialog.getByRole('button', { name: 'Link', exact: true }).click();
    await this.message(/Linked:/).waitFor();
  }

  /** Fails on accessibility violations in the page's current state. */
  async expectAccessible(description: string): Promise<void> {
    await this.page.evaluate(axe.source);
    const options = JSON.stringify({ runOnly: AXE_RULE_TAGS, resultTypes: ['violations'] });
    const { violations } = await this.page.evaluate<AxeResults>(`axe.run(document, ${options})`);
    const violationTexts = violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary ?? ''}`),
    );
    expect(violationTexts, `accessibility: ${description}`).toEqual([]);
  }

  /** Discards the errors that a test caused on purpose. */
  discardProblems(): void {
    this.#problems.length = 0;
  }

  /** Fails if anything went wrong in the window, and closes it. */
  async close(): Promise<void> {
    const problems = [...this.#problems];
    await this.page.context().close();
    expect(problems, 'errors in the window').toEqual([]);
  }
}
