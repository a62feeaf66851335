import type { TaskProfile, ZoneProfile } from './zone.ts';

const free: TaskProfile = { isAvailable: true, isChargeable: false, processing: 'automated' };
const charged: TaskProfile = { isAvailable: true, isChargeable: true, processing: 'automated' };

/** Service API, Profile of the .rest zone and Domain lifecycle in the .rest zone. */
export const restZone: ZoneProfile = {
  zone: 'rest',
  isDocumented: true,
  names: {
    labelLength: { min: 1, max: 63 },
    oneLabelOnly: true,
    idn: 'ISO_8859_1',
    reservedHyphens: true,
  },
  periodYears: { min: 1, max: 10 },
  nameServers: { min: 2, max: 7 },
  transfer: {
    isAuthCodeRequired: true,
    authCodeFormat: 'standard EPP',
    autoApproveDays: 5,
    renews: true,
    lockDays: 60,
  },
  lifecycle: { autoRenews: true, autoRenewGraceDays: 45, redemptionDays: 30, pendingDeleteDays: 5 },
  tasks: {
    create: { ...charged, note: 'auth code not required' },
    transfer: { ...charged, note: 'auth code required' },
    renew: charged,
    restore: { ...charged, processing: 'manual' },
    delete: free,
    update: free,
    updateStatus: free,
    preack: free,
    restoreNE: free,
    restoreARGP: free,
    restoreRenew: free,
  },
  requiredContactFields: ['ownerc/email', 'adminc/email', 'techc/email'],
  premiumNames: 'Short or generic names cost more at registration and possibly at renewal.',
  registry: {
    registration: 'real-time',
    dnssec: true,
    ipv6: true,
    handleUpdates: true,
    whoisPrivacy: true,
    dataSet:
      'minimum; registrant data hidden by default in public WHOIS/RDAP; the organization field is the legal registrant',
    whoisUpdate: 'standard',
    connection: 'direct',
    eligibility: 'open to anyone worldwide, no restrictions; general availability',
    extensions: 'none required',
  },
  errorCodes: [
    ...['EF00805', 'EF0103112', 'EF00803', 'EF01017', 'EF03008', 'EF00512', 'EF03005', 'EF01002', 'EF03007'],
    ...['EF01015', 'EF03006', 'EF01075', 'EF03011', 'EF01055', 'EF03010', 'EF01095', 'EF01074', 'EF0103118'],
  ],
};
