/** The smallest and the largest number, both included. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** The smallest and the largest number; `max` is undefined where no largest is documented. */
export interface OpenRange {
  readonly min: number;
  readonly max: number | undefined;
}

export interface TaskProfile {
  readonly available: boolean;
  readonly chargeable: boolean;
  readonly processing: 'automated' | 'manual';
  /** What the profile adds in words. */
  readonly note?: string;
}

/** The periods of a name's life around its end, in days (service API, Domain lifecycle). */
export interface LifecycleProfile {
  /** A name is renewed by itself at its expiry, and the grace follows. */
  readonly autoRenews: boolean;
  readonly autoRenewGraceDays: number;
  readonly redemptionDays: number;
  readonly pendingDeleteDays: number;
}

export interface TransferProfile {
  /** The auth code must be given with the order. */
  readonly authCodeRequired: boolean;
  readonly authCodeFormat: 'standard EPP' | undefined;
  /** Days after which the transfer goes through when the losing registrar stays silent. */
  readonly autoApproveDays: number | undefined;
  /** The transfer renews the name too. */
  readonly renews: boolean | undefined;
  /** Days without transfers after a registration or an owner change. */
  readonly lockDays: number | undefined;
}

export interface NameProfile {
  /** Characters of one label, counted in its ASCII form. */
  readonly labelLength: Range;
  /** Names are one label and the zone; nothing deeper can be registered. */
  readonly oneLabelOnly: boolean;
  /** Letters beyond ASCII: a character set, or `any` that IDNA allows; the registry decides which of those it takes. */
  readonly idn: 'ISO_8859_1' | 'any';
  /** Hyphens in third and fourth place are reserved for `xn--` (all generic zones). */
  readonly reservedHyphens: boolean;
}

/** What the registry offers beside names. `/domain rules` shows it; no check uses it. */
export interface RegistryProfile {
  readonly registration: string;
  readonly dnssec: boolean;
  readonly ipv6: boolean;
  readonly handleUpdates: boolean;
  readonly whoisPrivacy: boolean;
  readonly dataSet: string;
  readonly whoisUpdate: string;
  readonly connection: string;
  readonly eligibility: string;
  readonly extensions: string;
}

/** What one zone allows: data only, read by `rules.ts` and `lifecycle.ts`. */
export interface ZoneProfile {
  /** The zone in ASCII without a dot in front, or `*` for zones of which nothing is documented. */
  readonly zone: string;
  readonly documented: boolean;
  readonly names: NameProfile;
  /** Registration and renewal, in years. */
  readonly periodYears: OpenRange;
  /** Nameservers of one domain. */
  readonly nameServers: OpenRange;
  readonly transfer: TransferProfile;
  /** Undefined where nothing is documented about what happens after the expiry. */
  readonly lifecycle: LifecycleProfile | undefined;
  /** By the service's own task names; undefined where no list is documented. */
  readonly tasks: Readonly<Record<string, TaskProfile>> | undefined;
  readonly requiredContactFields: readonly string[];
  readonly premiumNames: string | undefined;
  readonly registry: RegistryProfile | undefined;
  /** Error codes that the profile lists; their meaning is not documented. */
  readonly errorCodes: readonly string[];
}
