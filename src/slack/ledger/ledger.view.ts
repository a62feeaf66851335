import type { LedgerDifference } from '../../ledger/difference.ts';
import type { TeamEventOf } from '../../ledger/events.ts';

import { code, lines, type Message, message, moment, section, textMessage } from '../kit/blocks.ts';

/* What people are told of the ledger. */

/** What each difference means, for whoever has to do something about it. */
const DIFFERENCES: Readonly<Record<LedgerDifference['code'], (first: number | undefined) => string>> = {
  event_changed: (first) =>
    `Rows of the log are not what was sealed, first event ${first}: somebody changed them in the database.`,
  event_gone: (first) =>
    `Rows of the log that were sealed are gone, first event ${first}: somebody deleted them in the database.`,
  event_unsealed: () => 'The log has rows that were written past the bot: no seal covers them.',
  event_hidden: () =>
    'The content of rows of the log was taken away, and no event says who forgot it: somebody did that in the database.',
  seal_changed: (first) =>
    `Seals are not what was signed, first seal ${first}: somebody changed them in the database.`,
  seal_gone: (first) => `Seals are missing, first seal ${first}: somebody deleted them in the database.`,
  other_key: (first) =>
    `Another key has signed the seals up to ${first}. Nothing is sealed until LEDGER_KEY is that key again.`,
  anchor_differs: (first) =>
    `Seal ${first} is not the one that left: somebody rewrote the ledger in the database.`,
  put_back: (first) =>
    `Seal ${first} had left, and the database does not have it. An earlier state of the database was put back, or its end was cut off. What lay between is not in the log.`,
  other_history: (first) =>
    `There is another seal ${first} than the one that had left. An earlier state of the database was put back and has gone on since, or somebody rewrote it. Anchors that others keep tell which.`,
};

/** One line for a difference. */
export function differenceText({ code: kind, count, first }: LedgerDifference): string {
  const text = DIFFERENCES[kind](first);
  return count > 1 ? `${text} (${count})` : text;
}

export function differencesMessage({ differences }: TeamEventOf<'ledger_differs'>): Message {
  const title = '🚨 The ledger does not fit the log';
  const texts = differences.map(differenceText);
  return message(`${title}: ${texts.join(' ')}`, [
    section(`*${title}*`),
    ...lines([
      ...texts,
      'Keep a copy of the database as it is before you mend anything; docs/ledger.md says what to do.',
    ]),
  ]);
}

export function stalledMessage(): Message {
  return textMessage(
    '⚠ Events of the log have waited for a seal for more than a minute. Orders go on; nothing new is proved until it is sealed. The log of the bot says why.',
  );
}

export function restoredMessage({ takenAt, seal }: TeamEventOf<'database_restored'>): Message {
  return textMessage(
    `⚠ The database is the backup of ${moment(new Date(takenAt))}: what was logged since is gone. The ledger goes on after seal ${seal}, with numbers that had been given before. Anchors and receipts of that time do not fit it. Tell whoever keeps them.`,
  );
}

/** The line of a day, in whose thread the hours stand. */
export function anchorDayMessage(day: string): Message {
  return textMessage(
    `🔏 Ledger, ${day}: what was sealed stands in this thread, hour by hour. Whoever keeps a copy elsewhere can prove what was in the log by then.`,
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
