export interface Range {
  readonly min: number;
  readonly max: number;
}

export interface OpenEndedRange {
  readonly min: number;
  /** Undefined if no maximum is documented. */
  readonly max: number | undefined;
}

export interface TaskProfile {
  readonly isAvailable: boolean;
  readonly isChargeable: boolean;
  readonly processing: 'automated' | 'manual';
  /** Quoted from the zone's profile in the service's API documentation. */
  readonly note?: string;
}

/** See “Domain lifecycle” in the service's API documentation. */
export interface LifecycleProfile {
  /** Whether names renew automatically when they expire. The grace period follows. */
  readonly autoRenews: boolean;
  readonly autoRenewGraceDays: number;
  readonly redemptionDays: number;
  readonly pendingDeleteDays: number;
}

export interface TransferProfile {
  readonly isAuthCodeRequired: boolean;
  readonly authCodeFormat: 'standard EPP' | undefined;
  /** Days until a transfer completes if the losing registrar doesn't answer. */
  readonly autoApproveDays: number | undefined;
  /** Whether the transfer also renews the name. */
  readonly includesRenewal: boolean | undefined;
  /** Days after a registration or owner change during which transfers are locked. */
  readonly lockDays: number | undefined;
}

export interface NameProfile {
  readonly labelLength: Range;
  readonly allowsOnlyDirectChildren: boolean;
  /** The allowed letters: a character set, or `any` if the bot doesn't check them. */
  readonly idn: 'ISO_8859_1' | 'any';
  /** Whether hyphens in positions 3 and 4 are reserved for `xn--`, as ICANN requires of generic zones. */
  readonly reservesHyphens: boolean;
}

/** Shown by `/domain rules`, but not checked. */
export interface RegistryProfile {
  readonly registration: string;
  readonly supportsDnssec: boolean;
  readonly supportsIpv6: boolean;
  readonly supportsHandleUpdates: boolean;
  readonly supportsWhoisPrivacy: boolean;
  readonly dataSet: string;
  readonly whoisUpdate: string;
  readonly connection: string;
  readonly eligibility: string;
  readonly extensions: string;
}

export interface ZoneProfile {
  /** In ASCII, without a leading dot; `*` for undocumented zones. */
  readonly zone: string;
  readonly isDocumented: boolean;
  readonly names: NameProfile;
  /** For registration and renewal, in years. */
  readonly periodYears: OpenEndedRange;
  readonly nameServers: OpenEndedRange;
  readonly transfer: TransferProfile;
  readonly lifecycle: LifecycleProfile | undefined;
  /** Keyed by the service's task names; undefined if undocumented. */
  readonly tasks: Readonly<Record<string, TaskProfile>> | undefined;
  readonly requiredContactFields: readonly string[];
  readonly premiumNamesNote: string | undefined;
  readonly registry: RegistryProfile | undefined;
  /** The service API lists these codes without an explanation. */
  readonly errorCodes: readonly string[];
}
