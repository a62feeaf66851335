import { DAY_MS } from '../lib/duration.ts';
import { isSameRegistrarName, mayBeSameRegistrar } from '../registry/rdap/registrar-name.ts';
import { getRegistrarName } from './facts.ts';
import type { NameHistory } from './history.ts';
import type { Registration } from './registry-record.ts';

/**
 * A transfer by a thief extends the expiry date like a renewal, but also changes the registrar. So a later
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

/** @returns why the record may show a transfer unknown to the team; undefined if the record is trusted */
export function findDistrustReason(
  trustedRecord: TrustedRecord | undefined,
  record: RegistrarSighting,
  now: Date,
): DistrustReason | undefined {
  if (trustedRecord === undefined) return undefined;
  const { registrar: before } = trustedRecord;
  const { registrar, transferredAt } = record;
  if (isTransferExpected(trustedRecord, now)) return undefined;
  if (before !== undefined && registrar === undefined) return { code: 'registrar_missing', before };
  if (before !== undefined && registrar !== undefined && !isSameRegistrarName(before, registrar)) {
    return { code: 'registrar_changed', before, now: registrar };
  }
  return transferredAt !== undefined && transferredAt > trustedRecord.at
    ? { code: 'transferred', at: transferredAt }
    : undefined;
}

/** @param ownRegistrars the registrars that the domain service uses; empty if unknown */
export function isAtForeignRegistrar(
  ownRegistrars: readonly string[],
  registrar: string | undefined,
): boolean {
  return (
    ownRegistrars.length > 0 &&
    ownRegistrars.every((ownRegistrar) => !mayBeSameRegistrar(ownRegistrar, registrar))
  );
}

/** Whether the last record showed another registrar after a transfer unknown to the team. */
export function hasUnknownTransfer({ trusted, history }: RegistrarKnowledge, now: Date): boolean {
  const registrar = getRegistrarName(history.registrar?.current?.value ?? []);
  if (trusted === undefined || isTransferExpected(trusted, now)) return false;
  return !mayBeSameRegistrar(trusted.registrar, registrar);
}

export function updateTrustedRecord(
  trustedRecord: TrustedRecord | undefined,
  record: RegistrarSighting,
  now: Date,
): TrustedRecord {
  const { registrar = trustedRecord?.registrar } = record;
  const expectedAt = trustedRecord?.transferExpectedAt;
  const isSameRegistrar = mayBeSameRegistrar(trustedRecord?.registrar, registrar);
  const hasTransferCompleted =
    !isSameRegistrar ||
    (expectedAt !== undefined && (record.transferredAt?.getTime() ?? 0) >= expectedAt.getTime());
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
