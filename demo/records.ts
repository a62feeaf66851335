import { SANDBOX_ACCOUNTS, SANDBOX_TRANSFER, type SandboxService } from '@domain-steward/sandbox-service';
import type { CertificateReading } from '#src/registry/certificate.ts';

/* Public records of the demo's names, and their certificates. Most names are in order; a few have findings. */

const DAY_MS = 86_400_000;
const REGISTRAR = { ianaId: '9998', name: 'Sandbox Registrar Ltd' };
const LOCKS = ['client transfer prohibited', 'client delete prohibited'];
/** The team forgot its transfer lock. */
const UNLOCKED = 'olive.rest';
/** Its certificate has expired. */
const OLD_CERTIFICATE = 'deli.rest';
const CERTIFICATE_DAYS = 68;

/** Shows a complete record of a name. */
export function showRecord({ registry }: SandboxService, name: string): void {
  registry.show(name, {
    registrar: REGISTRAR,
    owner: { name: 'Anna Example', organization: 'Example GmbH' },
    statuses: ['active', ...LOCKS],
    isSigned: true,
  });
}

/** Shows the registrar and the locks of all names of the team. */
export function showRecords({ registry, state }: SandboxService): void {
  for (const { name } of state.domains(SANDBOX_ACCOUNTS.alice.context))
    if (name !== SANDBOX_TRANSFER.name)
      registry.show(name, { registrar: REGISTRAR, ...(name !== UNLOCKED && { locks: LOCKS }) });
}

/** The demo has no websites, so certificates are made up. */
export function certificateOf(name: string, now: number): CertificateReading {
  const days = name === OLD_CERTIFICATE ? -2 : CERTIFICATE_DAYS;
  return { state: 'seen', value: [new Date(now + days * DAY_MS).toISOString()] };
}
