import type { ZoneProfile } from './zone.ts';

/** Contains only the rules of DNS, for zones without a profile. The service checks everything else. */
export const generalZone: ZoneProfile = {
  zone: '*',
  isDocumented: false,
  names: {
    labelLength: { min: 1, max: 63 },
    allowsOnlyDirectChildren: false,
    idn: 'any',
    reservesHyphens: false,
  },
  periodYears: { min: 1, max: undefined },
  nameServers: { min: 1, max: undefined },
  transfer: {
    isAuthCodeRequired: false,
    authCodeFormat: undefined,
    autoApproveDays: undefined,
    includesRenewal: undefined,
    lockDays: undefined,
  },
  lifecycle: undefined,
  tasks: undefined,
  requiredContactFields: [],
  premiumNamesNote: undefined,
  registry: undefined,
  errorCodes: [],
};
