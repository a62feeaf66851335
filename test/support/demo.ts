import { createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SANDBOX_ACCOUNTS, type SandboxService } from '@domain-steward/sandbox-service';
import type { Actor, Message, Seed, View, Workspace } from '@domain-steward/slack-workspace';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { z } from 'zod';
import { type Demo, startDemo } from '../../demo/demo.ts';
import { DOMAINS_CHANNEL, performAndWaitForReply, performAndWaitForView } from '../../demo/people.ts';
import { createLog } from '../../src/lib/log.ts';
import type { PolicySource } from '../../src/policy/ports.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { assertReadableMessages } from './held-messages.ts';
import { fasterPace } from './pace.ts';
import { hasRateLimits, pickRudenessSeed } from './rudeness.ts';
import { CHARGED_TASKS } from './settings.ts';

export { DOMAINS_CHANNEL as DOMAINS, performAndWaitForView };

export interface TestDemoOptions {
  /** Changes to the demo's people and channels. */
  readonly seed?: Partial<Seed>;
  /** Settings of the bot that override those of the demo. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly socketMode?: boolean;
  /** How many times faster than usual the bot takes over abandoned work. */
  readonly speedup?: number;
  /** Changes the database's address, for example to that of a proxy. */
  readonly databaseUrl?: (url: string) => string | Promise<string>;
  /** The lowest level that is logged; `debug` by default. */
  readonly logLevel?: string;
  /** Limit of a person's commands per minute, for tests that use more than people do. */
  readonly commandsPerMinute?: number;
  /** The policy that is in force. */
  readonly policy?: PolicySource;
  /** Slack's limits by method and tier; by default chosen per file, see {@link hasRateLimits}. */
  readonly rateLimits?: boolean;
  /** People who start with a linked account for the live context; only Alice by default. */
  readonly linkedPeople?: readonly ('alice' | 'bob')[];
}

/** The longest pause between two updates of a busy order's card. */
const MAX_CARD_PAUSE_MS = 3_000;

/** The whole product: sandbox service, workspace and bot, on a separate database. */
export class TestDemo {
  readonly #options: TestDemoOptions;
  #running: { readonly demo: Demo; readonly database: TestDatabase; readonly dataDir: string } | undefined;
  #logged = '';

  constructor(options: TestDemoOptions = {}) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const {
      settings,
      socketMode,
      speedup,
      databaseUrl,
      logLevel = 'debug',
      linkedPeople = ['alice'],
      policy,
      commandsPerMinute,
      seed = {},
      rateLimits = hasRateLimits(),
    } = this.#options;
    const database = await createTestDatabase();
    const dataDir = await mkdtemp(join(tmpdir(), 'domain-steward-flow-'));
    const log = createLog(logLevel, {
      write: (line) => {
        this.#logged += line;
      },
    });
    const demo = await startDemo({
      port: 0,
      dataDir,
      rude: pickRudenessSeed(),
      databaseUrl: (await databaseUrl?.(database.url)) ?? database.url,
      log,
      seed,
      settings: { APPROVAL_TASKS: CHARGED_TASKS, ...settings },
      seams: {
        ...(speedup === undefined ? {} : { pace: fasterPace(speedup) }),
        ...(policy === undefined ? {} : { policy }),
        ...(commandsPerMinute === undefined ? {} : { commandsPerMinute }),
      },
      ...(socketMode === undefined ? {} : { socketMode }),
    });
    this.#running = { demo, database, dataDir };
    demo.workspace.rateLimits.enabled = rateLimits;
    for (const name of linkedPeople) await link(this.workspace, this[name], SANDBOX_ACCOUNTS[name]);
  }

  /** Stops everything. @throws {Error} if the bot posted something unreadable */
  async stop(): Promise<void> {
    await this.#running?.demo.stop();
    await this.#running?.database.drop();
    if (this.#running !== undefined) await rm(this.#running.dataDir, { recursive: true, force: true });
    const calls = this.#running?.demo.workspace.calls ?? [];
    this.#running = undefined;
    assertReadableMessages(calls);
  }

  get #parts() {
    if (this.#running === undefined) throw new Error('the demo is not running');
    return this.#running;
  }

  get demo(): Demo {
    return this.#parts.demo;
  }

  get service(): SandboxService {
    return this.demo.service;
  }

  get workspace(): Workspace {
    return this.demo.workspace;
  }

  get botUrl(): string {
    return `http://127.0.0.1:${this.demo.bot.port}`;
  }

  get databaseUrl(): string {
    return this.#parts.database.url;
  }

  get dataDir(): string {
    return this.#parts.dataDir;
  }

  get alice(): Actor {
    return this.workspace.as('U0ALICE');
  }

  /** An approver by id. */
  get bob(): Actor {
    return this.workspace.as('U0BOB');
  }

  /** An approver by her group. */
  get carol(): Actor {
    return this.workspace.as('U0CAROL');
  }

  /** An admin. */
  get ada(): Actor {
    return this.workspace.as('U0ADA');
  }

  /** Moves the clock until the promise settles, which skips the bot's pauses between messages. */
  async advanceClockUntil<Result>(promise: Promise<Result>): Promise<Result> {
    let isPending = true;
    const end = () => {
      isPending = false;
    };
    promise.then(end, end);
    while (isPending) await this.demo.moveTime(MAX_CARD_PAUSE_MS);
    return promise;
  }

  /** Everything the bot logged. */
  getLog(): string {
    return this.#logged;
  }

  /** Every row of every table as text; bytes in hex. */
  dump(): Promise<string> {
    return dumpDatabase(this.databaseUrl);
  }

  /** Waits until Slack shows the latest state of every order. */
  waitUntilSlackIsCurrent(): Promise<void> {
    return until('Slack shows the current state of every order', async () =>
      (await dumpDatabase(this.databaseUrl, 'public.notifications')).split('\n').every((line) => {
        if (line === '') return true;
        const row = notificationRow.parse(JSON.parse(line.slice(line.indexOf('{'))));
        const isOrderPlan = row.subject_kind === 'order' && row.purpose === 'plan';
        // A draft isn't due until it is confirmed.
        return !isOrderPlan || row.shows === String(row.version) || row.due_at === null;
      }),
    );
  }
}

/** A demo for all tests of a file or `describe`. The bot's warnings during a test are shown with the test's failure. */
export function useTestDemo(options?: TestDemoOptions): TestDemo {
  const t = new TestDemo(options);
  beforeAll(() => t.start());
  beforeEach(({ onTestFailed }) => {
    const before = t.getLog().length;
    onTestFailed(() => {
      const warnings = listWarnings(t.getLog().slice(before));
      if (warnings.length > 0) throw new Error(`Warnings of the bot:\n${warnings.join('\n')}`);
    });
  });
  afterAll(() => t.stop());
  return t;
}

const MAX_WARNINGS = 20;

function listWarnings(logged: string): string[] {
  return logged
    .split('\n')
    .filter((line) => /"level":[456]0/.test(line))
    .slice(-MAX_WARNINGS);
}

const notificationRow = z.object({
  subject_kind: z.string(),
  purpose: z.string(),
  version: z.number(),
  shows: z.string().nullable(),
  due_at: z.string().nullable(),
});

export async function dumpDatabase(url: string, table?: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const tables = await client.query<{ name: string }>(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    const rows: string[] = [];
    for (const { name } of tables.rows) {
      if (table !== undefined && name !== table) continue;
      const found = await client.query<{ row: string }>(`SELECT to_jsonb(t)::text AS row FROM ${name} t`);
      rows.push(...found.rows.map(({ row }) => `${name} ${row}`));
    }
    return rows.join('\n');
  } finally {
    await client.end();
  }
}

/** Runs a command and waits for its form. */
export function openForm(
  workspace: Workspace,
  person: Actor,
  text: string,
  channel = DOMAINS_CHANNEL,
): Promise<View> {
  return performAndWaitForView(workspace, person, () => person.command(channel, text), `the form of ${text}`);
}

export interface Credentials {
  readonly user: string;
  readonly context: number;
  readonly password: string;
}

/** Links an account with the form; by default Alice's, for the live context. */
export async function link(
  workspace: Workspace,
  person: Actor,
  { user, context, password }: Credentials = SANDBOX_ACCOUNTS.alice,
  tries = 3,
): Promise<void> {
  const view = await openLinkForm(workspace, person);
  const ephemeralCount = person.ephemerals().length;
  const result = await person.submit(view, { user, context: String(context), password });
  // If the check takes longer than Slack waits, the outcome is shown in the form.
  const findLinkConfirmation = () =>
    result.outcome === 'updated'
      ? person.openedViews().find(({ id, ...shown }) => id === view.id && /Linked:/.test(textOf(shown)))
      : person.ephemerals()[ephemeralCount];
  // While the machine is busy, the first response may be too late for Slack: people submit the form again.
  if (result.outcome === 'failed' && result.error === 'operation_timeout' && tries > 1) {
    person.close(view);
    return link(workspace, person, { user, context, password }, tries - 1);
  }
  if (result.outcome !== 'closed' && result.outcome !== 'updated')
    throw new Error(`linking ${user} failed: ${JSON.stringify(result)}`);
  await workspace.waitFor(findLinkConfirmation, { what: `${person.user.real_name} to be linked` });
  if (result.outcome === 'updated') person.close(view);
}

/** Opens the link form. While the machine is busy, it may open too late for Slack: people try again. */
async function openLinkForm(workspace: Workspace, person: Actor, tries = 3): Promise<View> {
  const before = new Set(person.openedViews().map(({ id }) => id));
  const ephemeralCount = person.ephemerals().length;
  await person.command(DOMAINS_CHANNEL, '/domain link');
  const findOpened = () => person.openedViews().find(({ id }) => !before.has(id));
  const isLate = () =>
    person
      .ephemerals()
      .slice(ephemeralCount)
      .some(({ text }) => text.includes('took too long'));
  const what = 'the form of /domain link';
  await workspace.waitFor(() => findOpened() ?? (isLate() || undefined), { what, timeoutMs: 20_000 });
  const view = findOpened();
  if (view === undefined && tries === 1) throw new Error(`${what} opened too late`);
  return view ?? openLinkForm(workspace, person, tries - 1);
}

/** Performs an action and waits for its ephemeral reply. */
export async function performAndReadReply(
  workspace: Workspace,
  person: Actor,
  act: () => Promise<unknown>,
): Promise<string> {
  return textOf(await performAndWaitForReply(workspace, person, act));
}

/** Runs a command and waits for its ephemeral reply. */
export function readCommandReply(workspace: Workspace, person: Actor, command: string): Promise<string> {
  return performAndReadReply(workspace, person, () => person.command(DOMAINS_CHANNEL, command));
}

/** All texts of a message or view, including its blocks, joined. */
export function textOf(message: Pick<Message, 'blocks'> & { readonly text?: string }): string {
  const texts: string[] = message.text === undefined ? [] : [message.text];
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(collect);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        if (key === 'text' && typeof inner === 'string') texts.push(inner);
        else collect(inner);
      }
    }
  };
  collect(message.blocks);
  return texts.join('\n');
}

/** The ids of a message's buttons, including those in its menus. */
export function buttonsOf(message: Pick<Message, 'blocks'>): string[] {
  const found = JSON.stringify(message.blocks).matchAll(
    /"action_id":"([^"]+)"|"value":"((?:order|reminder|names|owner)_[a-z_]+):[^"]+"/g,
  );
  return [...found].map(([, id, chosen]) => chosen ?? id ?? '').filter((id) => !MENU_IDS.has(id));
}

const MENU_IDS: ReadonlySet<string> = new Set([
  'order_more',
  'reminder_more',
  'names_more',
  'owner_question',
]);

const action = z.object({
  action_id: z.string(),
  selected_option: z.object({ value: z.string() }).optional(),
});

/** The `action_id` of the clicked button, or of the menu choice, in a delivery. */
export function getClickedAction(payload: Workspace['deliveries'][number]['payload']): string | undefined {
  const [first] = z.array(action).catch([]).parse(payload['actions']);
  return first !== undefined && MENU_IDS.has(first.action_id)
    ? first.selected_option?.value.split(':')[0]
    : first?.action_id;
}

/** Polls until a condition is met. */
export async function until(
  what: string,
  isMet: () => boolean | Promise<boolean>,
  timeoutMs = 8_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await isMet())) {
    if (Date.now() > deadline) throw new Error(`timed out after ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Sends the bot a forged request with a valid signature.
 * @returns the HTTP status
 */
export async function deliverSigned(
  demo: Pick<TestDemo, 'workspace' | 'botUrl'>,
  contentType: string,
  body: string,
): Promise<number> {
  const response = await postSigned(demo, contentType, body);
  await response.text();
  return response.status;
}

/** Delivers an interaction as Slack does. @returns the parsed response; undefined if empty */
export async function deliverInteraction(
  demo: Pick<TestDemo, 'workspace' | 'botUrl'>,
  payload: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  const response = await postSigned(demo, 'application/x-www-form-urlencoded', body);
  const text = await response.text();
  return text === '' ? undefined : JSON.parse(text);
}

function postSigned(
  { workspace, botUrl }: Pick<TestDemo, 'workspace' | 'botUrl'>,
  contentType: string,
  body: string,
): Promise<Response> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const mac = createHmac('sha256', workspace.signingSecret).update(`v0:${timestamp}:${body}`);
  return fetch(`${botUrl}/slack/events`, {
    method: 'POST',
    body,
    headers: {
      'content-type': contentType,
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${mac.digest('hex')}`,
    },
  });
}
