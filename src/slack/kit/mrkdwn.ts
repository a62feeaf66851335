import { DAY_MS } from '../../lib/duration.ts';

// Text that a person or the service wrote is untrusted. It must be escaped in messages.

/** Limits of Block Kit, in characters or items. See https://docs.slack.dev/reference/block-kit. */
export const LIMITS = {
  messageBlocks: 50,
  viewBlocks: 100,
  sectionText: 3_000,
  sectionFields: 10,
  fieldText: 2_000,
  headerText: 150,
  buttonText: 75,
  contextElements: 10,
  actionElements: 25,
  options: 100,
  overflowOptions: 5,
  optionText: 75,
  optionValue: 150,
  modalTitle: 24,
  modalButton: 24,
  inputLabel: 2_000,
  inputHint: 2_000,
  placeholder: 150,
  messageText: 4_000,
  /** For all blocks of a message except tables. Slack's own limit is slightly above 13,000. */
  messageBlocksText: 12_500,
  /** For all table cells of a message. */
  tableText: 9_500,
  cellText: 300,
  tableCaption: 150,
  tableRows: 100,
  chartTitle: 50,
  chartBars: 20,
  chartLabel: 20,
  inputValue: 3_000,
} as const;

/** Adds an ellipsis. Never splits a surrogate pair. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const start = text.slice(0, limit - 1);
  return `${/[\uD800-\uDBFF]$/.test(start) ? start.slice(0, -1) : start}…`;
}

/** Like {@link truncate}. Also never splits an entity, mention or date. */
export function truncateMarkup(mrkdwn: string, limit: number): string {
  if (mrkdwn.length <= limit) return mrkdwn;
  return `${truncate(mrkdwn, limit)
    .slice(0, -1)
    .replace(/(?:&[a-z]{0,4}|<[^>]*)$/, '')}…`;
}

/** Never splits an entity, mention, date or surrogate pair. */
export function splitMarkup(mrkdwn: string, limit: number): string[] {
  if (mrkdwn.length <= limit) return [mrkdwn];
  const parts = [''];
  for (const token of mrkdwn.match(/&[a-z]{2,4};|<[^>]*>|[\s\S]/gu) ?? []) {
    if ((parts.at(-1)?.length ?? 0) + token.length > limit) parts.push('');
    parts[parts.length - 1] += token;
  }
  return parts;
}

export const CONTROL_CHARACTERS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes control characters
  /[\u0000-\u0008\u000b-\u001f\u007f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Prevents mentions, links, markup and hidden direction marks in untrusted text. See
 * https://docs.slack.dev/messaging/formatting-message-text#escaping.
 */
export function escapeText(text: string): string {
  return (
    text
      .replace(CONTROL_CHARACTERS, '')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      // A word joiner prevents markup, and mentions such as "@here".
      .replace(/([*~`]|(?<![\p{L}\d])_|_(?![\p{L}\d])|@(?=here|channel|everyone))/gu, '\u2060$1\u2060')
  );
}

/** Escapes one of the bot's sentences that contains untrusted text, but keeps code style. */
export function escapeExceptCode(text: string): string {
  return escapeText(text).replaceAll('\u2060`\u2060', '`');
}

/** Puts untrusted text on one line, truncated and escaped. */
export function escapeLine(text: string, limit = 300): string {
  return escapeText(truncate(text.replace(/\s+/g, ' ').trim(), limit));
}

/** Formats untrusted text as code. Replaces backticks, because they can't be escaped in code. */
export function code(text: string): string {
  const escaped = truncate(text.replace(CONTROL_CHARACTERS, '').replaceAll('`', 'ˋ'), 300)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
  return `\`${escaped}\``;
}

/** Slack notifies the person, so mention only people to whom the message is addressed. */
export function mention(userId: string): string {
  return /^[UW][A-Z0-9]+$/.test(userId) ? `<@${userId}>` : 'the bot';
}

export function mentionApprover(id: string): string {
  return id.startsWith('S') ? `<!subteam^${id}>` : mention(id);
}

/**
 * Lists approvers to follow “1 approval from”, for example `@Bob or a member of @team`.
 * @param neededCount number of required approvals; several may come from one group
 */
export function mentionAnyApprover(
  ids: readonly string[],
  neededCount: number,
  maxShown = ids.length,
): string {
  const member = neededCount === 1 ? 'a member' : 'members';
  const mentions = ids.map((id) =>
    id.startsWith('S') ? `${member} of ${mentionApprover(id)}` : mention(id),
  );
  return joinWithOr(mentions, maxShown);
}

/** Returns, for example, `@Ada, @Bob or 3 more`. */
export function joinWithOr(parts: readonly string[], maxShown = parts.length): string {
  const hiddenCount = parts.length - maxShown;
  return joinWith('or', hiddenCount > 0 ? [...parts.slice(0, maxShown), `${hiddenCount} more`] : parts);
}

/**
 * Formats a time in the reader's time zone. See
 * https://docs.slack.dev/messaging/formatting-message-text#date-formatting.
 */
export function formatLocalTime(date: Date): string {
  return `<!date^${Math.floor(date.getTime() / 1_000)}^{date_short_pretty} {time}|${formatUtcTime(date)}>`;
}

/** Formats a time in UTC, for clients that don't support date tokens. */
export function formatUtcTime(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

const DAY_FORMAT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

const SHORT_DAY_FORMAT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});
/** Within this distance, the year is clear from the day and month. */
const MAX_SHORT_DAY_DISTANCE_MS = 300 * DAY_MS;

/**
 * Formats a day in UTC, because expiry dates don't depend on the reader's time zone.
 * @param today if given, the year is left out for days within 300 days
 */
export function formatUtcDate(date: Date, today?: Date): string {
  const isNear =
    today !== undefined && Math.abs(date.getTime() - today.getTime()) < MAX_SHORT_DAY_DISTANCE_MS;
  return (isNear ? SHORT_DAY_FORMAT : DAY_FORMAT).format(date);
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function uncapitalize(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/**
 * Returns, for example, `a, b and 3 more`.
 * @param total number of all texts, if `texts` has only some of them
 */
export function joinAtMost(texts: readonly string[], limit: number, total = texts.length): string {
  const shownTexts = texts.slice(0, limit);
  return `${shownTexts.join(', ')}${total > shownTexts.length ? ` and ${total - shownTexts.length} more` : ''}`;
}

/** Returns, for example, `A`, `A and B` or `A, B and C`. */
export function joinWords(parts: readonly string[]): string {
  return joinWith('and', parts);
}

function joinWith(conjunction: 'and' | 'or', parts: readonly string[]): string {
  const last = parts.at(-1) ?? '';
  return parts.length < 2 ? last : `${parts.slice(0, -1).join(', ')} ${conjunction} ${last}`;
}

export function formatCount(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? '' : 's'}`;
}

// An emoji that isn't followed by a space is part of a domain name, such as ☕.com.
const LEADING_EMOJI = /^(?:(?::[a-z][a-z0-9_+-]*:|\p{Extended_Pictographic}\ufe0f?)+\s+)+/u;
const LEADING_MENTIONS = /^(?:<[@!][^>]+>(?:, )?)+: (\p{L}?)/u;

/**
 * Removes markup, leading emoji and mentions, for notifications and screen readers. Keeps escapes, because
 * Slack parses mentions in this text too.
 */
export function removeMarkup(mrkdwn: string): string {
  const text = mrkdwn
    // Characters between word joiners are text, not markup.
    .replace(/\u2060([*~`])\u2060|[*`\u2060]/g, '$1')
    .replace(LEADING_EMOJI, '')
    .replace(LEADING_MENTIONS, (_, firstLetter: string) => firstLetter.toUpperCase())
    .replace(/@(?=here|channel|everyone)/g, '@\u2060');
  return truncateMarkup(text, LIMITS.messageText);
}

/** Slack's ids of direct messages start with D; those of channels start with C or G. */
export function isDirectMessage(channelId: string): boolean {
  return channelId.startsWith('D');
}
