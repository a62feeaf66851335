import type { Registration, RegistryLookup } from '../../src/names/registry-record.ts';

/** A registration whose record has only its expiry. */
export function registrationUntil(expiresAt: Date, overrides: Partial<Registration> = {}): Registration {
  return {
    expiresAt,
    hasExactDates: true,
    registeredAt: undefined,
    transferredAt: undefined,
    deletedAt: undefined,
    registrar: 'Registrar',
    nameServers: [],
    statuses: ['active'],
    usedHttps: true,
    ...overrides,
  };
}

/** A registry lookup with a registration. */
export function createRegistryLookup(name: string, at: Date, registration: Registration): RegistryLookup {
  return { name, at, facts: {}, result: { kind: 'registered', registration, server: 'rdap.example' } };
}
