import { DAY_MS } from '../lib/duration.ts';
import { isTransferLock, listRegistryLockedOperations } from '../registry/rdap/status.ts';
import { type DelegationFaultCode, findFaults, HEALTH_FACTS } from './delegation-health.ts';
import { type FactName, type FactValue, findPart } from './facts.ts';
import type { FactHistory, NameHistory } from './history.ts';
import { NULL_MX } from './impact.ts';
import { getSignatureWarningTime } from './signatures.ts';

/**
 * The findings of a name. Each lookup stores a {@link Posture}. Findings about dates, owner and incidents are
 * added when the posture is read, because they change without a lookup.
 */

export const CERTIFICATE_FACTS = ['certificate', 'www_certificate'] as const satisfies readonly FactName[];

/** Worst first. */
const CODES_BY_LEVEL = {
  danger: [
    'expired',
    'all_lame',
    'nameserver_registrable',
    'dnssec_broken',
    'certificate_expired',
    'incident',
  ],
  warning: [
    'expires_soon',
    'undated',
    /** No transfer lock. */
    'unlocked',
    'lame',
    'nameserver_expiring',
    'dnssec_expiring',
    'certificate_expiring',
    'certificate_mismatch',
    'no_owner',
  ],
  note: ['unsigned', 'no_caa', 'no_spf', 'no_dmarc'],
} as const;
export type FindingLevel = keyof typeof CODES_BY_LEVEL;
export const FINDING_CODES = [
  ...CODES_BY_LEVEL.danger,
  ...CODES_BY_LEVEL.warning,
  ...CODES_BY_LEVEL.note,
] as const;
export type FindingCode = (typeof FINDING_CODES)[number];
export const DANGER_CODES = CODES_BY_LEVEL.danger;
export type DangerCode = (typeof DANGER_CODES)[number];
export const DELEGATION_FINDINGS = [
  'all_lame',
  'nameserver_registrable',
  'dnssec_broken',
  'lame',
  'nameserver_expiring',
] as const satisfies readonly FindingCode[];

/** The parts of a name that lookups check. A name with an unseen part is never `fine`. */
export const LOOKUP_PARTS = ['registry', 'delegation', 'dnssec', 'dns', 'certificate'] as const;
export type LookupPart = (typeof LOOKUP_PARTS)[number];

export interface Finding {
  readonly code: FindingCode;
  /** Undefined if the start isn't known. */
  readonly since: Date | undefined;
  /** The affected hosts or domains. */
  readonly about?: readonly string[];
}

/** Times are numbers in ms, because thousands of findings are read at once. */
interface PeriodFinding extends Omit<Finding, 'since'> {
  readonly since: number | undefined;
  /** When a worse finding replaces this one. */
  readonly until?: number;
  /** When the certificate was first seen, in ms. */
  readonly seenAt?: number;
}

/** The result of lookups, which is valid until the next lookup. */
export interface Posture {
  /** Findings may begin in the future. */
  readonly findings: readonly (PeriodFinding & { readonly since: number })[];
  readonly unseen: readonly UnseenPart[];
}

export interface UnseenPart {
  readonly part: LookupPart;
  /** In ms, and possibly in the future; 0 if the part was never seen. */
  readonly since: number;
  /** Nameservers that don't respond. */
  readonly about?: readonly string[];
}

export interface AssessedName {
  readonly expiresAt: Date | undefined;
  readonly deletedAt: Date | undefined;
  /** Whether the lapse is confirmed, so that the name needs no date and no owner. */
  readonly isLapsing: boolean;
  readonly hasOwner: boolean;
  /** When the first open incident was opened. */
  readonly incidentSince: Date | undefined;
  /** Undefined before the first lookup. */
  readonly posture: Posture | undefined;
}

export interface Assessment {
  /** Worst first. */
  readonly findings: readonly Finding[];
  readonly unseen: readonly UnseenPart[];
}

/** Also the threshold of `nameserver_expiring`. */
const EXPIRES_SOON_MS = 30 * DAY_MS;
/** DNS is looked up daily, registries weekly. */
const MAX_AGE_MS: Readonly<Record<LookupPart, number>> = {
  registry: 15 * DAY_MS,
  delegation: 2 * DAY_MS,
  dnssec: 2 * DAY_MS,
  dns: 2 * DAY_MS,
  certificate: 2 * DAY_MS,
};
const FINDING_BY_FAULT: Readonly<Record<DelegationFaultCode, FindingCode>> = {
  registrable: 'nameserver_registrable',
  all_lame: 'all_lame',
  mismatched_ds: 'dnssec_broken',
  lame: 'lame',
  no_address: 'lame',
  expiring: 'nameserver_expiring',
  silent: 'lame',
};

const RANK_BY_CODE: ReadonlyMap<FindingCode, number> = new Map(
  FINDING_CODES.map((code, rank) => [code, rank]),
);

function getRank({ code }: Pick<Finding, 'code'>): number {
  return RANK_BY_CODE.get(code) ?? RANK_BY_CODE.size;
}

export function getLevel(code: FindingCode): FindingLevel {
  const isIn = (codes: readonly FindingCode[]) => codes.includes(code);
  return isIn(CODES_BY_LEVEL.danger) ? 'danger' : isIn(CODES_BY_LEVEL.warning) ? 'warning' : 'note';
}

export function assessName(name: AssessedName, now: Date): Assessment {
  const nowMs = now.getTime();
  const { findings: lookupFindings = [], unseen = ALL_PARTS_UNSEEN } = name.posture ?? {};
  const findings = [...listRecordFindings(name), ...lookupFindings]
    .filter(
      ({ since, until }) => (since === undefined || since <= nowMs) && (until === undefined || nowMs < until),
    )
    .sort((a, b) => getRank(a) - getRank(b))
    .reduce<Finding[]>(mergeFinding, []);
  return { findings, unseen: unseen.filter(({ since }) => since <= nowMs) };
}

/** Merges findings with the same code, which a name and its `www` host may have. */
function mergeFinding(findings: Finding[], { code, since, about }: PeriodFinding): Finding[] {
  const last = findings.at(-1);
  if (last?.code === code) {
    findings[findings.length - 1] = { ...last, about: [...(last.about ?? []), ...(about ?? [])] };
    return findings;
  }
  findings.push({ code, since: since === undefined ? undefined : new Date(since), ...(about && { about }) });
  return findings;
}

const ALL_PARTS_UNSEEN: readonly UnseenPart[] = LOOKUP_PARTS.map((part) => ({ part, since: 0 }));

export function listFindingCodes({ findings }: Assessment): readonly FindingCode[] {
  return findings.map(({ code }) => code);
}

export interface NameAssessment extends Assessment {
  readonly name: string;
  readonly status: NameStatus;
}

/** Names with only notes or no findings are `fine` if all parts were seen, else `unchecked`. */
const NAME_STATUSES = ['danger', 'warning', 'unchecked', 'fine'] as const;
export type NameStatus = (typeof NAME_STATUSES)[number];

export interface PostureSummary {
  /** Worst first. */
  readonly names: readonly NameAssessment[];
  readonly counts: Readonly<Record<NameStatus, number>>;
}

export function summarizePosture(
  names: readonly (AssessedName & { readonly name: string })[],
  now: Date,
): PostureSummary {
  const counts = { danger: 0, warning: 0, unchecked: 0, fine: 0 };
  const rankedNames = names.map((name) => {
    const assessment = assessName(name, now);
    const status = getStatus(assessment);
    counts[status] += 1;
    const [worstFinding] = assessment.findings;
    const rank =
      NAME_STATUSES.indexOf(status) * 100 +
      (worstFinding === undefined ? RANK_BY_CODE.size : getRank(worstFinding));
    return { ...assessment, name: name.name, status, rank };
  });
  rankedNames.sort(
    (a, b) => a.rank - b.rank || b.findings.length - a.findings.length || (a.name < b.name ? -1 : 1),
  );
  return { names: rankedNames, counts };
}

function getStatus({ findings: [worstFinding], unseen }: Assessment): NameStatus {
  const level = worstFinding && getLevel(worstFinding.code);
  if (level !== undefined && level !== 'note') return level;
  return unseen.length > 0 ? 'unchecked' : 'fine';
}

/** Findings that began or ended in a period, and the number of names with exactly these changes. */
export interface FindingsChange {
  readonly began: readonly FindingCode[];
  readonly ended: readonly FindingCode[];
  readonly names: number;
}

/** A finding doesn't count as fixed if a worse one replaced it. */
const REPLACED_BY: Readonly<Partial<Record<FindingCode, FindingCode>>> = {
  expires_soon: 'expired',
  certificate_expiring: 'certificate_expired',
  lame: 'all_lame',
};

/** Counts the names with each new or fixed finding, worst first. Notes aren't counted. */
export function countFindingChanges(changes: readonly FindingsChange[]) {
  const isFixed = (code: FindingCode, { ended, began }: FindingsChange) => {
    const worseCode = REPLACED_BY[code];
    return ended.includes(code) && !(worseCode !== undefined && began.includes(worseCode));
  };
  const countNamesBy = (matches: (code: FindingCode, change: FindingsChange) => boolean) =>
    [...CODES_BY_LEVEL.danger, ...CODES_BY_LEVEL.warning].flatMap((code) => {
      const nameCount = changes
        .filter((change) => matches(code, change))
        .reduce((sum, change) => sum + change.names, 0);
      return nameCount === 0 ? [] : [{ code, names: nameCount }];
    });
  return { new: countNamesBy((code, { began }) => began.includes(code)), fixed: countNamesBy(isFixed) };
}

/** Lists findings about dates, owner and incidents. */
function listRecordFindings(name: AssessedName): readonly PeriodFinding[] {
  const { expiresAt, deletedAt, isLapsing, hasOwner, incidentSince } = name;
  const incidentFindings: readonly PeriodFinding[] =
    incidentSince === undefined ? [] : [{ code: 'incident', since: incidentSince.getTime() }];
  if (isLapsing) return incidentFindings;
  const ownerFindings: readonly PeriodFinding[] = hasOwner ? [] : [{ code: 'no_owner', since: undefined }];
  return [
    ...incidentFindings,
    ...listDateFindings(expiresAt?.getTime(), deletedAt?.getTime()),
    ...ownerFindings,
  ];
}

function listDateFindings(
  expiresAt: number | undefined,
  deletedAt: number | undefined,
): readonly PeriodFinding[] {
  if (deletedAt !== undefined) return [{ code: 'expired', since: deletedAt }];
  if (expiresAt === undefined) return [{ code: 'undated', since: undefined }];
  return [
    { code: 'expires_soon', since: expiresAt - EXPIRES_SOON_MS, until: expiresAt },
    { code: 'expired', since: expiresAt },
  ];
}

interface LookedUpName {
  readonly name: string;
  readonly history: NameHistory;
  readonly at: Date;
  /** Days before a certificate expires, highest first. */
  readonly certificateDays: readonly number[];
}

/** Findings that were already in the last posture keep their start time. */
export function createPosture(lookup: LookedUpName, previousPosture: Posture | undefined): Posture {
  const { history, at } = lookup;
  const currentFindings = [
    ...listDelegationFindings(history),
    ...listLockFindings(history),
    ...listDnsFindings(history),
  ];
  const findings = currentFindings.map((finding) => {
    const previousFinding = previousPosture?.findings.find(({ code }) => code === finding.code);
    return { ...finding, since: previousFinding?.since ?? at.getTime() };
  });
  return {
    findings: [...findings, ...listSignatureFindings(history), ...listCertificateFindings(lookup)],
    unseen: listUnseenParts(history),
  };
}

type LookupFinding = Omit<Finding, 'since'>;

function listDelegationFindings(history: NameHistory): LookupFinding[] {
  const aboutByCode = new Map<FindingCode, readonly string[]>();
  for (const { code: fault, hosts } of findFaults(history)) {
    const code = FINDING_BY_FAULT[fault];
    aboutByCode.set(code, [...(aboutByCode.get(code) ?? []), ...hosts]);
  }
  // `all_lame` implies `lame`.
  if (aboutByCode.has('all_lame')) aboutByCode.delete('lame');
  return [...aboutByCode].map(([code, about]) => ({ code, about }));
}

/** Lists the operations that the registry itself has locked. */
export function listRegistryLocks(history: NameHistory): readonly string[] {
  return listRegistryLockedOperations(getCurrentValue(history, 'statuses') ?? []);
}

function listLockFindings(history: NameHistory): LookupFinding[] {
  const statuses = getCurrentValue(history, 'statuses');
  if (statuses === undefined || getCurrentValue(history, 'registration')?.length === 0) return [];
  return statuses.some(isTransferLock) ? [] : [{ code: 'unlocked' }];
}

function listDnsFindings(history: NameHistory): LookupFinding[] {
  const isAbsent = (fact: FactName) => getCurrentValue(history, fact)?.length === 0;
  const hasMail = getCurrentValue(history, 'mx')?.some((text) => text !== NULL_MX) === true;
  const absenceFindings = [
    ['ds', 'unsigned'],
    ['caa', 'no_caa'],
    ...(hasMail
      ? ([
          ['spf', 'no_spf'],
          ['dmarc', 'no_dmarc'],
        ] as const)
      : []),
  ] as const;
  return absenceFindings.flatMap(([fact, code]) => (isAbsent(fact) ? [{ code }] : []));
}

/** Uses the latest sighting even if it isn't confirmed, because certificates change often. */
function listCertificateFindings({ name, history, certificateDays }: LookedUpName): Posture['findings'] {
  return CERTIFICATE_FACTS.flatMap((fact) => {
    const sighting = history[fact]?.candidate ?? history[fact]?.current;
    const [expiry] = sighting?.value ?? [];
    if (sighting === undefined || expiry === undefined) return [];
    const until = Date.parse(expiry);
    const seenAt = sighting.firstSeen.getTime();
    const about = [fact === 'certificate' ? name : `www.${name}`];
    const since = until - Math.max(0, ...certificateDays) * DAY_MS;
    const isMismatch = findPart(sighting.value, 'mismatch') !== undefined;
    return [
      { code: 'certificate_expiring' as const, since, until, seenAt, about },
      { code: 'certificate_expired' as const, since: until, about },
      ...(isMismatch ? [{ code: 'certificate_mismatch' as const, since: seenAt, about }] : []),
    ];
  });
}

/** Uses the latest sighting even if it isn't confirmed, because signatures change often. */
function listSignatureFindings(history: NameHistory): Posture['findings'] {
  const sighting = history.signatures?.candidate ?? history.signatures?.current;
  const since = sighting && getSignatureWarningTime(sighting);
  return since === undefined || isUnsigned(history) ? [] : [{ code: 'dnssec_expiring', since }];
}

function isUnsigned(history: NameHistory): boolean {
  return getCurrentValue(history, 'ds')?.length === 0;
}

/** @returns the earliest expiry of the name's certificates in ms; infinity if it has none */
export function getEarliestCertificateExpiry({ posture }: AssessedName): number {
  const endTimes = posture?.findings.map(({ until }) => until ?? Number.POSITIVE_INFINITY) ?? [];
  return Math.min(Number.POSITIVE_INFINITY, ...endTimes);
}

const FACTS_BY_PART: Readonly<Record<Exclude<LookupPart, 'delegation'>, readonly FactName[]>> = {
  registry: ['statuses'],
  dnssec: ['ds', 'signatures'],
  certificate: CERTIFICATE_FACTS,
  dns: ['a', 'aaaa', 'mx', 'caa', 'spf', 'dmarc'],
};

function listUnseenParts(history: NameHistory): Posture['unseen'] {
  return LOOKUP_PARTS.map((part) => {
    const partFacts = part === 'delegation' ? HEALTH_FACTS : FACTS_BY_PART[part];
    const facts = isUnsigned(history) ? partFacts.filter((fact) => fact !== 'signatures') : partFacts;
    const silentNameservers = part === 'delegation' ? history.silent_nameservers?.current : undefined;
    const about = silentNameservers?.value ?? [];
    const unseenTimes = facts.map((fact) => getUnseenSince(history[fact], MAX_AGE_MS[part]));
    if (silentNameservers !== undefined && about.length > 0)
      unseenTimes.push(silentNameservers.firstSeen.getTime());
    return { part, since: Math.min(...unseenTimes), ...(about.length > 0 && { about }) };
  });
}

function getUnseenSince(fact: FactHistory | undefined, maxAgeMs: number): number {
  const { current, candidate, unseen } = fact ?? {};
  if (current === undefined) return 0;
  if (unseen !== undefined) return unseen.since.getTime();
  return Math.max(current.lastSeen.getTime(), candidate?.lastSeen.getTime() ?? 0) + maxAgeMs;
}

function getCurrentValue(history: NameHistory, fact: FactName): FactValue | undefined {
  return history[fact]?.current?.value;
}
