import { dropMissing } from '../../lib/collections.ts';
import { DAY_MS } from '../../lib/duration.ts';
import type { EndingCertificate, FaultyName, RenewedName, UnrecordedNames } from '../../names/ports.ts';
import { displayName } from '../../zones/names.ts';
import { formatDays } from '../expiry/expiry.view.ts';
import { code, count, day, escapeText, joinFirst, lines, type Message, message } from '../kit/blocks.ts';
import { findingText } from './posture.view.ts';

/* News of a digest, besides due names. */

const NAMES_SHOWN = 20;

export interface News {
  readonly faulty: readonly FaultyName[];
  readonly registries: readonly UnrecordedNames[];
  readonly certificates: readonly EndingCertificate[];
  readonly renewed: readonly RenewedName[];
  readonly now: Date;
}

export function newsMessage({ faulty, registries, certificates, renewed, now }: News): Message {
  const parts = [
    ...part(
      `${count(faulty.length, 'name')} with a new delegation problem`,
      faulty.map(
        ({ name, faults: [worst] }) =>
          `${shown(name)} · ${worst === undefined ? '' : findingText({ code: worst })}`,
      ),
      `All: ${code('/domain names lame')}`,
    ),
    ...part(
      `${count(certificates.length, 'certificate')} to renew`,
      certificates.map(
        ({ host, endsAt }) =>
          `${shown(host)} · :warning: ends ${formatDays(daysUntil(endsAt, now))}, ${day(endsAt)}`,
      ),
      `All: ${code('/domain names cert<30')}`,
    ),
    ...part(
      `${count(renewed.length, 'name')} renewed elsewhere`,
      renewed.map(
        ({ name, expiresAt }) => `${shown(name)} · now expires ${day(expiresAt)}, not ordered here`,
      ),
    ),
  ];
  const notes = registries.map(unrecordedText);
  const title = parts.length > 0 ? parts.map((each) => each.title).join(', ') : notes.join(' ');
  return message(title, lines([...parts.flatMap((each) => each.lines), ...notes]));
}

function part(title: string, names: readonly string[], all?: string) {
  if (names.length === 0) return [];
  const left = names.length - NAMES_SHOWN;
  const rest = dropMissing([left > 0 && `… and ${left} more`, all]);
  return [{ title, lines: [`*${title}*`, ...names.slice(0, NAMES_SHOWN), ...rest] }];
}

function shown(name: string): string {
  return escapeText(displayName(name));
}

function daysUntil(endsAt: Date, now: Date): number {
  return Math.ceil((endsAt.getTime() - now.getTime()) / DAY_MS);
}

function unrecordedText({ zone, count: total, names }: UnrecordedNames): string {
  const [verb, them] = total === 1 ? ['doesn’t exist', 'it'] : ['don’t exist', 'them'];
  const listed = joinFirst(names.map(shown), names.length, total);
  return `The .${escapeText(displayName(zone))} registry answers that ${total} of your names ${verb}, though its zone delegates ${them}: ${listed}. Dates and locks can’t be checked there until this is fixed. Ask your registrar if it lasts.`;
}
