import { DAY_MS } from '../lib/duration.ts';
import { isSameRegistrarName, mayBeSameRegistrar } from '../registry/rdap/registrar-name.ts';
import { getRegistrarName } from './facts.ts';
import type { NameHistory } from './history.ts';
import type { Registration } from './registry-record.ts';

/**
 * A stolen name gets a later expiry date like a renewed one, but it also gets a new registrar. So a later
 * date is trusted only if the registrar is the same.
 */

export interface TrustedRecord {
  /** Undefined if the next record's registrar will be trusted. */
  readonly registrar: string | undefined;
  /** When the last trusted record was fetched. */
  readonly at: Date;
  /** When the team requested or confirmed a transfer, so that the new registrar is trusted. */
  readonly transferExpectedAt: Date | undefined;
}

export type DistrustReason =
  | { readonly code: 'registrar_changed'; readonly before: string; readonly now: string }
  /** The record no longer names the registrar. */
  | { readonly code: 'registrar_missing'; readonly before: string }
  | { readonly code: 'transferred'; readonly at: Date };

/** A transfer completes or fails within this time. */
const MAX_TRANSFER_MS = 60 * DAY_MS;

interface RegistrarKnowledge {
  readonly trusted: TrustedRecord | undefined;
  readonly history: NameHistory;
}

type RegistrarSighting = Pick<Registration, 'registrar' | 'transferredAt'>;

/** @returns why the record may show a transfer that the team doesn't know; undefined if it is trusted */
export function findDistrustReason(
  trusted: TrustedRecord | undefined,
  record: RegistrarSighting,
  now: Date,
): DistrustReason | undefined {
  if (trusted === undefined) return undefined;
  const { registrar: before } = trusted;
  const { registrar, transferredAt } = record;
  if (isTransferExpected(trusted, now)) return undefined;
  if (before !== undefined && registrar === undefined) return { code: 'registrar_missing', before };
  if (before !== undefined && registrar !== undefined && !isSameRegistrarName(before, registrar)) {
    return { code: 'registrar_changed', before, now: registrar };
  }
  return transferredAt !== undefined && transferredAt > trusted.at
    ? { code: 'transferred', at: transferredAt }
    : undefined;
}

/** @param ownRegistrars the registrars that the domain service uses; empty if unknown */
export function isAtForeignRegistrar(
  ownRegistrars: readonly string[],
  registrar: string | undefined,
): boolean {
  return ownRegistrars.length > 0 && ownRegistrars.every((own) => !mayBeSameRegistrar(own, registrar));
}

/** Whether the last record showed another registrar after a transfer that the team doesn't know. */
export function hasUnknownTransfer({ trusted, history }: RegistrarKnowledge, now: Date): boolean {
  const registrar = getRegistrarName(history.registrar?.current?.value ?? []);
  if (trusted === undefined || isTransferExpected(trusted, now)) return false;
  return !mayBeSameRegistrar(trusted.registrar, registrar);
}

export function updateTrust(
  trusted: TrustedRecord | undefined,
  record: RegistrarSighting,
  now: Date,
): TrustedRecord {
  const { registrar = trusted?.registrar } = record;
  const expectedAt = trusted?.transferExpectedAt;
  const isSame = mayBeSameRegistrar(trusted?.registrar, registrar);
  const hasTransferCompleted =
    !isSame || (expectedAt !== undefined && (record.transferredAt?.getTime() ?? 0) >= expectedAt.getTime());
  const hasTransferExpired =
    expectedAt !== undefined && now.getTime() - expectedAt.getTime() > MAX_TRANSFER_MS;
  return {
    registrar,
    at: now,
    transferExpectedAt: hasTransferCompleted || hasTransferExpired ? undefined : expectedAt,
  };
}

function isTransferExpected({ transferExpectedAt }: TrustedRecord, now: Date): boolean {
  return transferExpectedAt !== undefined && now.getTime() - transferExpectedAt.getTime() <= MAX_TRANSFER_MS;
}
