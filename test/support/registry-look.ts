import type { Registration, RegistryLookup } from '../../src/names/registry-record.ts';

/** A registration of which a record tells no more than its end. */
export function registrationUntil(expiresAt: Date, more: Partial<Registration> = {}): Registration {
  return {
    expiresAt,
    hasExactDates: true,
    registeredAt: undefined,
    transferredAt: undefined,
    deletedAt: undefined,
    registrar: 'Registrar',
    nameServers: [],
    statuses: ['active'],
    isSecure: true,
    ...more,
  };
}

/** A look at a registry that showed a registration. */
export function lookThatShows(name: string, at: Date, registration: Registration): RegistryLookup {
  return { name, at, facts: {}, result: { kind: 'registered', registration, server: 'rdap.example' } };
}
