export interface Range {
  readonly min: number;
  readonly max: number;
}

export interface OpenRange {
  readonly min: number;
  /** Undefined if no maximum is documented. */
  readonly max: number | undefined;
}

export interface TaskProfile {
  readonly isAvailable: boolean;
  readonly isChargeable: boolean;
  readonly processing: 'automated' | 'manual';
  /** Quoted from the profile. */
  readonly note?: string;
}

/** From the service API, section Domain lifecycle. */
export interface LifecycleProfile {
  /** Names renew automatically at their expiry. The grace period follows. */
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
  /** Days after a registration or a change of owner in which transfers are locked. */
  readonly lockDays: number | undefined;
}

export interface NameProfile {
  readonly labelLength: Range;
  /** Only direct children of the zone can be registered. */
  readonly isSingleLabel: boolean;
  /** A character set, or `any` if only the registry decides. */
  readonly idn: 'ISO_8859_1' | 'any';
  /** Hyphens in positions 3 and 4 are reserved for `xn--` (in all generic zones). */
  readonly hasReservedHyphens: boolean;
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
  readonly periodYears: OpenRange;
  readonly nameServers: OpenRange;
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
