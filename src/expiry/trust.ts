import type { RdapRegistration } from '../rdap/registration.ts';

/*
 * Whose word a date is. A name that was stolen has a new registrar and a later date, as a renewed one has a later date:
 * only the same registrar’s date is believed without a question.
 */

/** The record that is believed. */
export interface TrustedRecord {
  /** What its registrar is called; undefined: whichever the next record names. */
  readonly registrar: string | undefined;
  /** When a record of it was last believed. */
  readonly at: Date;
  /** A transfer that the team has asked for, or knows of: its registrar is believed when it comes. */
  readonly transferKnownAt: Date | undefined;
}

/** Why a date of a record is not believed, if it has moved forward. */
export type Doubt =
  | { readonly code: 'another_registrar'; readonly before: string; readonly now: string }
  /** The record does not name the registrar any more. */
  | { readonly code: 'registrar_unseen'; readonly before: string }
  | { readonly code: 'transferred'; readonly at: Date };

const DAY_MS = 86_400_000;
/** A transfer comes within this time, or has come to nothing. */
const TRANSFER_MS = 60 * DAY_MS;

type Seen = Pick<RdapRegistration, 'registrar' | 'transferredAt'>;

/** Whether a record speaks of a transfer that nobody here knows of. */
export function doubtOf(trusted: TrustedRecord | undefined, record: Seen, now: Date): Doubt | undefined {
  if (trusted === undefined) return undefined;
  const { registrar: before, at } = trusted;
  const { registrar: shown, transferredAt } = record;
  if (isTransferKnown(trusted, now)) return undefined;
  if (before !== undefined && shown === undefined) return { code: 'registrar_unseen', before };
  if (before !== undefined && shown !== undefined && comparable(before) !== comparable(shown)) {
    return { code: 'another_registrar', before, now: shown };
  }
  return transferredAt !== undefined && transferredAt > at
    ? { code: 'transferred', at: transferredAt }
    : undefined;
}

/** What is believed after a record that was. */
export function trustAfter(trusted: TrustedRecord | undefined, record: Seen, now: Date): TrustedRecord {
  const { registrar = trusted?.registrar } = record;
  const known = trusted?.transferKnownAt;
  const isSame =
    trusted?.registrar === undefined ||
    registrar === undefined ||
    comparable(trusted.registrar) === comparable(registrar);
  const hasCome =
    !isSame || (known !== undefined && (record.transferredAt?.getTime() ?? 0) >= known.getTime());
  const isOver = known !== undefined && now.getTime() - known.getTime() > TRANSFER_MS;
  return { registrar, at: now, transferKnownAt: hasCome || isOver ? undefined : known };
}

function isTransferKnown({ transferKnownAt }: TrustedRecord, now: Date): boolean {
  return transferKnownAt !== undefined && now.getTime() - transferKnownAt.getTime() <= TRANSFER_MS;
}

function comparable(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}
