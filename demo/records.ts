import {
  SANDBOX_ACCOUNTS,
  SANDBOX_TRANSFERABLE_DOMAIN,
  type SandboxService,
} from '@domain-steward/sandbox-service';
import type { CertificateReading } from '#src/registry/certificate.ts';

/* Public records and certificates of the demo's names. A few names have findings. */

const DAY_MS = 86_400_000;
const REGISTRAR = { ianaId: '9998', name: 'Sandbox Registrar Ltd' };
const LOCKS = ['client transfer prohibited', 'client delete prohibited'];
const UNLOCKED_NAME = 'olive.rest';
const EXPIRED_CERTIFICATE_NAME = 'deli.rest';
const CERTIFICATE_DAYS = 68;

/** Adds a registrant and DNSSEC to the record. */
export function showRecord({ registry }: SandboxService, name: string): void {
  registry.show(name, {
    registrar: REGISTRAR,
    owner: { name: 'Anna Example', organization: 'Example GmbH' },
    statuses: ['active', ...LOCKS],
    isSigned: true,
  });
}

export function showRecords({ registry, state }: SandboxService): void {
  for (const { name } of state.listDomains(SANDBOX_ACCOUNTS.alice.context))
    if (name !== SANDBOX_TRANSFERABLE_DOMAIN.name)
      registry.show(name, { registrar: REGISTRAR, ...(name !== UNLOCKED_NAME && { locks: LOCKS }) });
}

/** The certificate is made up, because the demo has no websites. */
export function createCertificate(name: string, now: number): CertificateReading {
  const days = name === EXPIRED_CERTIFICATE_NAME ? -2 : CERTIFICATE_DAYS;
  return { state: 'seen', value: [new Date(now + days * DAY_MS).toISOString()] };
}
