import { createHash, randomBytes } from 'node:crypto';
import { UnknownKeyError, type Vault, VaultError } from '../accounts/vault.ts';
import { DAY_MS } from '../lib/duration.ts';
import { Secret } from '../service/secret.ts';
import { type CalendarName, type CalendarOptions, calendarFeed } from './calendar.ts';
import { LOOK_BACK_DAYS } from './marks.ts';
import type { FeedRecord, FeedStore, WatchListStore } from './ports.ts';

/** What the calendar feed needs. */
export interface FeedDeps {
  readonly feeds: FeedStore;
  readonly store: WatchListStore;
  readonly vault: Vault;
  readonly teamId: string;
  /** Where the bot's own HTTP server is reached, without a slash at the end. */
  readonly publicUrl: string;
  readonly timeZone: () => Promise<string>;
  readonly formatEvent: CalendarOptions['formatEvent'];
  /** Tells of names and their ends whether a mandate renews them. */
  readonly mandated: () => Promise<(name: CalendarName) => boolean>;
  readonly now: () => Date;
}

const TOKEN_BYTES = 32;

/**
 * The private address of a person's feed, created at the first call.
 * @param reset create a new one, and the former stops working
 * @throws {UnknownKeyError} when this process lacks the key of the address, which goes on working
 */
export async function feedAddress(deps: FeedDeps, userId: string, reset: boolean): Promise<Secret> {
  const fresh = () => newRecord(deps, userId);
  if (!reset) {
    const record =
      (await deps.feeds.find(userId)) ?? (await deps.feeds.keepFirst(fresh().record, deps.now()));
    try {
      return addressOf(deps, deps.vault.open(record.sealed, owner(deps, userId)));
    } catch (error) {
      // If its key is missing, the address goes on working elsewhere.
      if (!(error instanceof VaultError) || error instanceof UnknownKeyError) throw error;
    }
  }
  const { record, token } = fresh();
  await deps.feeds.save(record, deps.now());
  return addressOf(deps, token);
}

/** The feed behind a token, in pieces; undefined when nobody has this token. */
export async function openFeed(deps: FeedDeps, token: string): Promise<AsyncIterable<string> | undefined> {
  if (!(await deps.feeds.hasToken(hashOf(token)))) return undefined;
  const now = deps.now();
  const [timeZone, isMandated] = await Promise.all([deps.timeZone(), deps.mandated()]);
  const names = deps.store.calendarNames(new Date(now.getTime() - LOOK_BACK_DAYS * DAY_MS));
  return calendarFeed(marked(names, isMandated), { now, timeZone, formatEvent: deps.formatEvent });
}

async function* marked(
  names: AsyncIterable<CalendarName>,
  isMandated: (name: CalendarName) => boolean,
): AsyncGenerator<CalendarName> {
  for await (const each of names) yield isMandated(each) ? { ...each, isMandated: true } : each;
}

function newRecord(deps: FeedDeps, userId: string): { readonly record: FeedRecord; readonly token: Secret } {
  const text = randomBytes(TOKEN_BYTES).toString('base64url');
  const token = new Secret(text);
  const record = { userId, tokenHash: hashOf(text), sealed: deps.vault.seal(token, owner(deps, userId)) };
  return { record, token };
}

function owner({ teamId }: FeedDeps, userId: string): readonly string[] {
  return ['calendar-feed', teamId, userId];
}

function addressOf({ publicUrl }: FeedDeps, token: Secret): Secret {
  return new Secret(`${publicUrl}/calendar/${token.reveal()}.ics`);
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
