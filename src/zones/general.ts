import type { ZoneProfile } from './zone.ts';

/** What holds for a zone without a profile: the rules of names in general, and the four chargeable tasks. */
export const general: ZoneProfile = {
  zone: '*',
  documented: false,
  names: { labelLength: { min: 1, max: 63 }, oneLabelOnly: false, idn: 'any', reservedHyphens: false },
  periodYears: { min: 1, max: 10 },
  nameServers: { min: 1, max: 13 },
  transfer: {
    authCodeRequired: false,
    authCodeFormat: undefined,
    autoApproveDays: undefined,
    renews: undefined,
    lockDays: undefined,
  },
  lifecycle: undefined,
  tasks: undefined,
  requiredContactFields: [],
  premiumNames: undefined,
  registry: undefined,
};
