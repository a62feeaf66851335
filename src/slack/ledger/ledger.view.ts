import type { LedgerDifference } from '../../ledger/difference.ts';
import type { TeamEventOf } from '../../ledger/events.ts';
import {
  code,
  formatLocalTime,
  lineSections,
  type Message,
  message,
  section,
  textMessage,
} from '../kit/blocks.ts';

const DIFFERENCE_TEXTS: Readonly<Record<LedgerDifference['code'], (first: number | undefined) => string>> = {
  event_changed: (first) =>
    `Log rows differ from their seals, starting with event ${first}. Someone changed them in the database.`,
  event_gone: (first) =>
    `Sealed log rows are missing, starting with event ${first}. Someone deleted them in the database.`,
  event_unsealed: () => 'The log has unsealed rows, which the bot didn’t write.',
  event_hidden: () =>
    'The content of log rows is missing without a matching event. Someone removed it in the database.',
  seal_changed: (first) =>
    `Seals differ from their signatures, from seal ${first}. Someone changed them in the database.`,
  seal_gone: (first) => `Seals are missing, from seal ${first}. Someone deleted them in the database.`,
  other_key: (first) =>
    `Another key signed the seals up to ${first}. Sealing stops until LEDGER_KEY has that key again.`,
  anchor_differs: (first) =>
    `Seal ${first} differs from the published one. Someone rewrote the ledger in the database.`,
  rolled_back: (first) =>
    `Seal ${first} was published but is missing. The database was restored to an earlier state, or someone deleted its latest rows. Later events aren’t in the log.`,
  other_history: (first) =>
    `Seal ${first} differs from the published one. The database was restored to an earlier state, or someone rewrote it. To find out, compare it with anchors stored elsewhere.`,
};

export function differenceText({ code: kind, count, first }: LedgerDifference): string {
  const text = DIFFERENCE_TEXTS[kind](first);
  return count > 1 ? `${text} (${count})` : text;
}

export function differencesMessage({ differences }: TeamEventOf<'ledger_differs'>): Message {
  const title = '🚨 The ledger doesn’t match the log';
  const texts = differences.map(differenceText);
  return message(`${title}: ${texts.join(' ')}`, [
    section(`*${title}*`),
    ...lineSections([...texts, 'Copy the database before you repair anything. Then follow docs/ledger.md.']),
  ]);
}

export function sealingStalledMessage(): Message {
  return textMessage(
    '⚠ Log events haven’t been sealed for more than a minute. Orders continue, but new events can’t be proved until they’re sealed. Check the bot’s log.',
  );
}

export function databaseRestoredMessage({ takenAt, seal }: TeamEventOf<'database_restored'>): Message {
  return textMessage(
    `⚠ The backup of ${formatLocalTime(new Date(takenAt))} was restored, so later events are lost. The ledger continues after seal ${seal} and uses the same numbers again. Anchors and receipts from the lost time no longer match. Tell everyone who stores them.`,
  );
}

export function anchorDayMessage(day: string): Message {
  return textMessage(
    `🔏 Anchors of the audit log for ${day}: I post one in this thread every hour. A copy stored elsewhere proves what was in the log at that time.`,
  );
}

/** Shows the anchor in the format that `domain-steward-verify` accepts. */
export function anchorMessage({
  n,
  hash,
  at,
}: {
  readonly n: number;
  readonly hash: string;
  readonly at: Date;
}): Message {
  return textMessage(`Audit log anchor ${code(`${n}:${hash}`)} · ${formatLocalTime(at)} (no action needed)`);
}
