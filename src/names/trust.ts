import { DAY_MS } from '../lib/duration.ts';
import { isSameRegistrarName, mayBeSameRegistrar } from '../registry/rdap/registrar-name.ts';
import { registrarName } from './facts.ts';
import type { NameHistory } from './history.ts';
import type { Registration } from './registry-record.ts';

/*
 * Whether a registry's date is trusted. A stolen name gets a new registrar and a later date, and a renewed name a later
 * date too. A later date is therefore trusted only from the same registrar.
 */

export interface TrustedRecord {
  /** The registrar's name; undefined: whichever the next record names. */
  readonly registrar: string | undefined;
  /** When a record of it was last trusted. */
  readonly at: Date;
  /** When the team asked for a transfer or confirmed one: the new registrar is trusted when it comes. */
  readonly transferKnownAt: Date | undefined;
}

/** Why a date that has moved forward is not trusted. */
export type Distrust =
  | { readonly code: 'another_registrar'; readonly before: string; readonly now: string }
  /** The record no longer names the registrar. */
  | { readonly code: 'registrar_unseen'; readonly before: string }
  | { readonly code: 'transferred'; readonly at: Date };

/** A transfer is completed within this time, or has failed. */
const TRANSFER_MS = 60 * DAY_MS;

type Seen = Pick<Registration, 'registrar' | 'transferredAt'>;

/** Why a record is not trusted, if it may show a transfer that the team does not know of. */
export function distrustOf(
  trusted: TrustedRecord | undefined,
  record: Seen,
  now: Date,
): Distrust | undefined {
  if (trusted === undefined) return undefined;
  const { registrar: before, at } = trusted;
  const { registrar: shown, transferredAt } = record;
  if (isTransferKnown(trusted, now)) return undefined;
  if (before !== undefined && shown === undefined) return { code: 'registrar_unseen', before };
  if (before !== undefined && shown !== undefined && !isSameRegistrarName(before, shown)) {
    return { code: 'another_registrar', before, now: shown };
  }
  return transferredAt !== undefined && transferredAt > at
    ? { code: 'transferred', at: transferredAt }
    : undefined;
}

/** Whether a name was last seen at a registrar that is not the trusted one, by a transfer that the team does not know of. */
export function isAtAnotherRegistrar(
  { trusted, history }: { readonly trusted: TrustedRecord | undefined; readonly history: NameHistory },
  now: Date,
): boolean {
  const shown = registrarName(history.registrar?.current?.value ?? []);
  if (trusted === undefined || isTransferKnown(trusted, now)) return false;
  return !mayBeSameRegistrar(trusted.registrar, shown);
}

/** The new trusted record, once a record was trusted. */
export function trustAfter(trusted: TrustedRecord | undefined, record: Seen, now: Date): TrustedRecord {
  const { registrar = trusted?.registrar } = record;
  const known = trusted?.transferKnownAt;
  const isSame = mayBeSameRegistrar(trusted?.registrar, registrar);
  const hasCome =
    !isSame || (known !== undefined && (record.transferredAt?.getTime() ?? 0) >= known.getTime());
  const isOver = known !== undefined && now.getTime() - known.getTime() > TRANSFER_MS;
  return { registrar, at: now, transferKnownAt: hasCome || isOver ? undefined : known };
}

function isTransferKnown({ transferKnownAt }: TrustedRecord, now: Date): boolean {
  return transferKnownAt !== undefined && now.getTime() - transferKnownAt.getTime() <= TRANSFER_MS;
}
