import type { TaskProfile, ZoneProfile } from './zone.ts';

const freeTask: TaskProfile = { isAvailable: true, isChargeable: false, processing: 'automated' };
const paidTask: TaskProfile = { isAvailable: true, isChargeable: true, processing: 'automated' };

/** See the sections about the .rest zone and its domain lifecycle in the service's API documentation. */
export const restZone: ZoneProfile = {
  zone: 'rest',
  isDocumented: true,
  names: {
    labelLength: { min: 1, max: 63 },
    allowsOnlyDirectChildren: true,
    idn: 'ISO_8859_1',
    reservesHyphens: true,
  },
  periodYears: { min: 1, max: 10 },
  nameServers: { min: 2, max: 7 },
  transfer: {
    isAuthCodeRequired: true,
    authCodeFormat: 'standard EPP',
    autoApproveDays: 5,
    includesRenewal: true,
    lockDays: 60,
  },
  lifecycle: { autoRenews: true, autoRenewGraceDays: 45, redemptionDays: 30, pendingDeleteDays: 5 },
  tasks: {
    create: { ...paidTask, note: 'auth code not required' },
    transfer: { ...paidTask, note: 'auth code required' },
    renew: paidTask,
    restore: { ...paidTask, processing: 'manual' },
    delete: freeTask,
    update: freeTask,
    updateStatus: freeTask,
    preack: freeTask,
    restoreNE: freeTask,
    restoreARGP: freeTask,
    restoreRenew: freeTask,
  },
  requiredContactFields: ['ownerc/email', 'adminc/email', 'techc/email'],
  premiumNamesNote: 'Short or generic names cost more at registration and possibly at renewal.',
  registry: {
    registration: 'real-time',
    supportsDnssec: true,
    supportsIpv6: true,
    supportsHandleUpdates: true,
    supportsWhoisPrivacy: true,
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
