import type { LedgerDifference } from '../../ledger/difference.ts';
import type { TeamEventOf } from '../../ledger/events.ts';

import { code, lines, type Message, message, moment, section, textMessage } from '../kit/blocks.ts';

const DIFFERENCES: Readonly<Record<LedgerDifference['code'], (first: number | undefined) => string>> = {
  event_changed: (first) =>
    `Log rows differ from their seals, first event ${first}: someone changed them in the database.`,
  event_gone: (first) =>
    `Sealed log rows are gone, first event ${first}: someone deleted them in the database.`,
  event_unsealed: () => 'The log has rows that the bot didn’t write: no seal covers them.',
  event_hidden: () =>
    'The content of log rows is gone without a matching event: someone removed it in the database.',
  seal_changed: (first) =>
    `Seals differ from their signatures, first seal ${first}: someone changed them in the database.`,
  seal_gone: (first) => `Seals are missing, first seal ${first}: someone deleted them in the database.`,
  other_key: (first) =>
    `Another key signed the seals up to ${first}. Sealing stops until LEDGER_KEY is that key again.`,
  anchor_differs: (first) =>
    `Seal ${first} differs from the published one: someone rewrote the ledger in the database.`,
  put_back: (first) =>
    `Seal ${first} was published, but the database doesn’t have it. The database was restored to an earlier state, or its end was deleted. Events since then aren’t in the log.`,
  other_history: (first) =>
    `Seal ${first} differs from the published one. The database was restored to an earlier state and continued, or someone rewrote it. Anchors kept elsewhere show which.`,
};

export function differenceText({ code: kind, count, first }: LedgerDifference): string {
  const text = DIFFERENCES[kind](first);
  return count > 1 ? `${text} (${count})` : text;
}

export function differencesMessage({ differences }: TeamEventOf<'ledger_differs'>): Message {
  const title = '🚨 The ledger doesn’t match the log';
  const texts = differences.map(differenceText);
  return message(`${title}: ${texts.join(' ')}`, [
    section(`*${title}*`),
    ...lines([...texts, 'Copy the database before you repair anything; docs/ledger.md says what to do.']),
  ]);
}

export function stalledMessage(): Message {
  return textMessage(
    '⚠ Log events have been waiting for a seal for more than a minute. Orders continue, but nothing new is proved until it’s sealed. See the bot’s log.',
  );
}

export function restoredMessage({ takenAt, seal }: TeamEventOf<'database_restored'>): Message {
  return textMessage(
    `⚠ The database is the backup of ${moment(new Date(takenAt))}: later events are gone. The ledger continues after seal ${seal}, reusing numbers. Anchors and receipts from the lost time don’t match it. Tell the people who keep them.`,
  );
}

export function anchorDayMessage(day: string): Message {
  return textMessage(
    `🔏 Ledger, ${day}: seals are posted in this thread every hour. A copy kept elsewhere proves what was in the log at that time.`,
  );
}

/** An anchor as `domain-steward-verify` takes it. */
export function anchorMessage({
  n,
  hash,
  at,
}: {
  readonly n: number;
  readonly hash: string;
  readonly at: Date;
}): Message {
  return textMessage(`${moment(at)}: seal ${n} · ${code(`${n}:${hash}`)}`);
}
