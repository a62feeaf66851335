import { createHash, randomBytes } from 'node:crypto';
import { UnknownKeyError, VaultError } from '../accounts/vault.ts';
import { DAY_MS } from '../lib/duration.ts';
import { Secret } from '../service/secret.ts';
import { type CalendarName, calendarFeed } from './calendar.ts';
import type { ExpiryContext } from './context.ts';
import { MAX_DAYS_AFTER_EXPIRY } from './marks.ts';
import type { FeedRecord } from './ports.ts';

const TOKEN_BYTES = 32;

/**
 * A person's private feed URL, created on the first call.
 * @param reset create a new URL; the old one stops working
 * @throws {UnknownKeyError} if this process lacks the key that decrypts the URL; the URL keeps working
 */
export async function feedAddress(context: ExpiryContext, userId: string, reset: boolean): Promise<Secret> {
  const fresh = () => newRecord(context, userId);
  if (!reset) {
    const record =
      (await context.feeds.find(userId)) ?? (await context.feeds.saveIfAbsent(fresh().record, context.now()));
    try {
      return feedUrl(context, context.vault.open(record.sealed, owner(context, userId)));
    } catch (error) {
      // Processes that have the key can still decrypt the URL.
      if (!(error instanceof VaultError) || error instanceof UnknownKeyError) throw error;
    }
  }
  const { record, token } = fresh();
  await context.feeds.save(record, context.now());
  return feedUrl(context, token);
}

/** @returns the feed in chunks; undefined for an unknown token */
export async function openFeed(
  context: ExpiryContext,
  token: string,
): Promise<AsyncIterable<string> | undefined> {
  if (!(await context.feeds.hasToken(hashOf(token)))) return undefined;
  const now = context.now();
  const [{ reminderTimezone: timeZone }, isMandated] = await Promise.all([
    context.settings(),
    context.loadMandateCheck(),
  ]);
  const names = context.watchList.streamCalendarNames(
    new Date(now.getTime() - MAX_DAYS_AFTER_EXPIRY * DAY_MS),
  );
  return calendarFeed(marked(names, isMandated), { now, timeZone, formatEvent: context.formatEvent });
}

async function* marked(
  names: AsyncIterable<CalendarName>,
  isMandated: (name: CalendarName) => boolean,
): AsyncGenerator<CalendarName> {
  for await (const each of names) yield isMandated(each) ? { ...each, isMandated: true } : each;
}

function newRecord(
  context: ExpiryContext,
  userId: string,
): { readonly record: FeedRecord; readonly token: Secret } {
  const text = randomBytes(TOKEN_BYTES).toString('base64url');
  const token = new Secret(text);
  const record = {
    userId,
    tokenHash: hashOf(text),
    sealed: context.vault.seal(token, owner(context, userId)),
  };
  return { record, token };
}

function owner({ teamId }: ExpiryContext, userId: string): readonly string[] {
  return ['calendar-feed', teamId, userId];
}

function feedUrl({ publicUrl }: ExpiryContext, token: Secret): Secret {
  return new Secret(`${publicUrl}/calendar/${token.reveal()}.ics`);
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
