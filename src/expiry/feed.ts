import { createHash, randomBytes } from 'node:crypto';
import { UnknownKeyError, VaultError } from '../accounts/vault.ts';
import { DAY_MS } from '../lib/duration.ts';
import { Secret } from '../service/secret.ts';
import { type CalendarName, streamCalendarFeed } from './calendar.ts';
import type { ExpiryContext } from './context.ts';
import { MAX_DAYS_AFTER_EXPIRY } from './marks.ts';
import type { FeedRecord } from './ports.ts';

const TOKEN_BYTES = 32;

/**
 * Returns a person's private feed URL, which is created on the first call.
 * @param shouldReset create a new URL; the old one stops working
 * @throws {UnknownKeyError} if this process lacks the key that decrypts the URL; the URL keeps working
 */
export async function getFeedUrl(
  context: ExpiryContext,
  userId: string,
  shouldReset: boolean,
): Promise<Secret> {
  if (!shouldReset) {
    const record =
      (await context.feeds.find(userId)) ??
      (await context.feeds.saveIfAbsent(createFeedRecord(context, userId).record, context.now()));
    try {
      return buildFeedUrl(
        context,
        context.vault.open(record.sealed, buildFeedAssociatedData(context, userId)),
      );
    } catch (error) {
      // If only this process lacks the key, the URL still works and must not be replaced.
      if (!(error instanceof VaultError) || error instanceof UnknownKeyError) throw error;
    }
  }
  const { record, token } = createFeedRecord(context, userId);
  await context.feeds.save(record, context.now());
  return buildFeedUrl(context, token);
}

/** @returns the feed in chunks; undefined for an unknown token */
export async function openFeed(
  context: ExpiryContext,
  token: string,
): Promise<AsyncIterable<string> | undefined> {
  if (!(await context.feeds.hasToken(hashToken(token)))) return undefined;
  const now = context.now();
  const [{ reminderTimezone: timeZone }, hasMandate] = await Promise.all([
    context.settings(),
    context.loadMandateCheck(),
  ]);
  const names = context.watchList.streamCalendarNames(
    new Date(now.getTime() - MAX_DAYS_AFTER_EXPIRY * DAY_MS),
  );
  return streamCalendarFeed(markNamesWithMandate(names, hasMandate), {
    now,
    timeZone,
    formatEvent: context.formatEvent,
  });
}

async function* markNamesWithMandate(
  names: AsyncIterable<CalendarName>,
  hasMandate: (name: CalendarName) => boolean,
): AsyncGenerator<CalendarName> {
  for await (const name of names) yield hasMandate(name) ? { ...name, hasMandate: true } : name;
}

function createFeedRecord(
  context: ExpiryContext,
  userId: string,
): { readonly record: FeedRecord; readonly token: Secret } {
  const tokenText = randomBytes(TOKEN_BYTES).toString('base64url');
  const token = new Secret(tokenText);
  const record = {
    userId,
    tokenHash: hashToken(tokenText),
    sealed: context.vault.seal(token, buildFeedAssociatedData(context, userId)),
  };
  return { record, token };
}

function buildFeedAssociatedData({ teamId }: ExpiryContext, userId: string): readonly string[] {
  return ['calendar-feed', teamId, userId];
}

function buildFeedUrl({ publicUrl }: ExpiryContext, token: Secret): Secret {
  return new Secret(`${publicUrl}/calendar/${token.reveal()}.ics`);
}

function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
