import { dropMissing } from '../../lib/collections.ts';
import { DAY_MS } from '../../lib/duration.ts';
import type { ExpiringCertificate, FaultyName, MissingRecords, RenewedName } from '../../names/ports.ts';
import { formatDomainName } from '../../zones/names.ts';
import { formatDaysLeft } from '../expiry/expiry.view.ts';
import {
  code,
  escapeText,
  formatCount,
  formatUtcDate,
  joinAtMost,
  lineSections,
  type Message,
  message,
} from '../kit/blocks.ts';
import { findingText } from './posture.view.ts';

/* News in a digest: delegation problems, certificates, renewals elsewhere and registry errors. */

const MAX_ENTRIES = 20;

export interface News {
  readonly faultyNames: readonly FaultyName[];
  readonly unrecordedNames: readonly MissingRecords[];
  readonly certificates: readonly ExpiringCertificate[];
  readonly renewedNames: readonly RenewedName[];
  readonly now: Date;
}

export function newsMessage({
  faultyNames,
  unrecordedNames,
  certificates,
  renewedNames,
  now,
}: News): Message {
  const parts = [
    ...createSection(
      `${formatCount(faultyNames.length, 'name')} with a new delegation problem`,
      faultyNames.map(
        ({ name, faults: [worst] }) =>
          `${escapeName(name)} · ${worst === undefined ? '' : findingText({ code: worst })}`,
      ),
      `To list them, use ${code('/domain names lame')}.`,
    ),
    ...createSection(
      `${formatCount(certificates.length, 'certificate')} to renew`,
      certificates.map(
        ({ host, endsAt }) =>
          `${escapeName(host)} · :warning: expires ${formatDaysLeft(countDaysUntil(endsAt, now))}, ${formatUtcDate(endsAt)}`,
      ),
      `To list them, use ${code('/domain names cert<30')}.`,
    ),
    ...createSection(
      `${formatCount(renewedNames.length, 'name')} renewed elsewhere`,
      renewedNames.map(
        ({ name, expiresAt }) => `${escapeName(name)} · now expires ${formatUtcDate(expiresAt)}`,
      ),
    ),
  ];
  const notes = unrecordedNames.map(unrecordedText);
  const title = parts.length > 0 ? parts.map((part) => part.title).join(', ') : notes.join(' ');
  return message(title, lineSections([...parts.flatMap((part) => part.lines), ...notes]));
}

function createSection(title: string, entries: readonly string[], listHint?: string) {
  if (entries.length === 0) return [];
  const remainingCount = entries.length - MAX_ENTRIES;
  const footer = dropMissing([remainingCount > 0 && `… and ${remainingCount} more`, listHint]);
  return [{ title, lines: [`*${title}*`, ...entries.slice(0, MAX_ENTRIES), ...footer] }];
}

function escapeName(name: string): string {
  return escapeText(formatDomainName(name));
}

function countDaysUntil(endsAt: Date, now: Date): number {
  return Math.ceil((endsAt.getTime() - now.getTime()) / DAY_MS);
}

function unrecordedText({ zone, count: total, names }: MissingRecords): string {
  const pronoun = total === 1 ? 'it' : 'them';
  const listedNames = joinAtMost(names.map(escapeName), names.length, total);
  return `The .${escapeText(formatDomainName(zone))} registry has no record of ${total} of your names, although DNS still delegates ${pronoun}: ${listedNames}. I can’t check dates and locks until this is fixed. If it continues, ask your registrar.`;
}
