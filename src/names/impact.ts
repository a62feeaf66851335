import { z } from 'zod';
import { HOUR_MS } from '../lib/duration.ts';
import { isTransferLock } from '../registry/rdap/status.ts';
import { DEPENDENCIES, type Dependents } from './dependents.ts';
import {
  FACT_NAMES,
  type FactName,
  type Facts,
  type FactValue,
  getFactValue,
  UNKNOWN_REASONS,
  type UnknownReason,
} from './facts.ts';
import type { NameserverCheck } from './nameserver-check.ts';

/** The impact of a task on a name. A failed lookup is listed as an impact item and never counts as safe. */

export const IMPACT_TASKS = ['delete', 'lapse', 'nameservers', 'owner-change', 'authcode'] as const;
export type ImpactTask = (typeof IMPACT_TASKS)[number];

/** Worst first. */
export const SEVERITIES = [
  'stops',
  /** For uses that move with the name and stop working if the move fails. */
  'at_stake',
  /** A lookup failed, so the impact is unknown. */
  'unseen',
  'note',
] as const;
export type Severity = (typeof SEVERITIES)[number];

const textsSchema = z.array(z.string()).readonly();
const factNamesSchema = z.array(z.enum(FACT_NAMES)).readonly();
const severitySchema = z.enum(SEVERITIES);

export const impactItemSchema = z.discriminatedUnion('code', [
  z.object({
    code: z.enum([
      'new_nameservers_without_address',
      'new_nameservers_silent',
      'new_nameservers_not_authoritative',
      'new_nameservers_unseen',
      'ds_mismatch',
      'ds_unseen',
    ]),
    severity: severitySchema,
    hosts: textsSchema,
  }),
  z.object({
    code: z.enum(['new_nameservers_unchecked', 'dependents_unseen', 'signed', 'no_transfer_lock']),
    severity: severitySchema,
  }),
  z.object({
    code: z.literal('records_differ'),
    severity: severitySchema,
    fact: z.enum(FACT_NAMES),
    hosts: textsSchema,
    now: textsSchema,
    onNewServer: textsSchema,
  }),
  z.object({
    code: z.literal('records_unseen'),
    severity: severitySchema,
    host: z.string(),
    facts: factNamesSchema,
  }),
  z.object({ code: z.literal('mail'), severity: severitySchema, servers: textsSchema }),
  z.object({
    code: z.literal('website'),
    severity: severitySchema,
    addresses: textsSchema,
    /** `@` and `www`, or the targets of their aliases. */
    hosts: textsSchema,
  }),
  z.object({
    code: z.literal('dependents'),
    severity: severitySchema,
    by: z.enum(DEPENDENCIES),
    count: z.int(),
    /** The number of names that depend on this one only through private orders. They aren't in `names`. */
    privateCount: z.int(),
    names: textsSchema,
  }),
  z.object({
    code: z.literal('unseen'),
    severity: severitySchema,
    reason: z.enum(UNKNOWN_REASONS).catch('stale'),
    facts: factNamesSchema,
  }),
]);
export type ImpactItem = Readonly<z.output<typeof impactItemSchema>>;

export type YesNoUnknown = 'yes' | 'no' | 'unknown';

export interface Impact {
  readonly task: ImpactTask;
  readonly seenAt: Date;
  readonly items: readonly ImpactItem[];
  /** Whether mail, a website or other names use the name. */
  readonly isInUse: YesNoUnknown;
  /** Whether the new nameservers answer and match the DS record; undefined for other tasks. */
  readonly areNewNameserversReady: YesNoUnknown | undefined;
}

export interface ImpactInput {
  readonly task: ImpactTask;
  readonly seenAt: Date;
  /** Current facts. Missing facts count as unknown. */
  readonly facts: Facts;
  /** Used for warnings if the current lookup failed. */
  readonly earlierFacts: Facts;
  /** Undefined if the lookup failed. */
  readonly dependents: Dependents | undefined;
  /** For the task `nameservers`: the checks of the new nameservers; undefined before they are queried. */
  readonly nameserverChecks?: readonly NameserverCheck[] | undefined;
}

export const WEB_FACTS: readonly FactName[] = ['a', 'aaaa', 'www_a', 'www_aaaa'];
const USAGE_FACTS: readonly FactName[] = [...WEB_FACTS, 'mx'];
/** Null MX (RFC 7505). */
export const NULL_MX = '0 .';
const CODES_WORST_FIRST: readonly ImpactItem['code'][] = [
  'new_nameservers_not_authoritative',
  'new_nameservers_silent',
  'new_nameservers_without_address',
  'ds_mismatch',
  'records_differ',
  'mail',
  'website',
  'dependents',
  'new_nameservers_unchecked',
  'new_nameservers_unseen',
  'ds_unseen',
  'records_unseen',
  'dependents_unseen',
  'unseen',
  'no_transfer_lock',
  'signed',
];

export function assessImpact(input: ImpactInput): Impact {
  const items = [
    ...(input.task === 'nameservers' ? listNameserverItems(input.nameserverChecks) : []),
    ...listUsageItems(input),
    ...listDependentItems(input),
    ...listUnseenItems(input),
    ...listLockItems(input),
  ];
  const isUsed = items.some(({ code }) => code === 'mail' || code === 'website' || code === 'dependents');
  return {
    task: input.task,
    seenAt: input.seenAt,
    items: items.sort(compareItems),
    isInUse: isUsed ? 'yes' : isUsageKnown(input) ? 'no' : 'unknown',
    areNewNameserversReady:
      input.task === 'nameservers' ? areServersReady(input.nameserverChecks) : undefined,
  };
}

/** Whether a person must type the name to confirm the task. */
export function needsTypedName({ task, isInUse: inUse, areNewNameserversReady: ready }: Impact): boolean {
  switch (task) {
    case 'delete':
    case 'owner-change':
      return true;
    case 'nameservers':
      return ready !== 'yes' && inUse !== 'no';
    case 'lapse':
    case 'authcode':
      return false;
  }
}

export interface ImpactDifference {
  readonly addedItems: readonly ImpactItem[];
  readonly removedItems: readonly ImpactItem[];
  readonly changedItems: readonly { readonly before: ImpactItem; readonly after: ImpactItem }[];
}

/** Compares two impacts of the same task, such as those at the request and at the approval. */
export function compareImpacts(before: Impact, after: Impact): ImpactDifference {
  const itemsBefore = new Map(before.items.map((item) => [getItemKey(item), item]));
  const itemsAfter = new Map(after.items.map((item) => [getItemKey(item), item]));
  return {
    addedItems: after.items.filter((item) => !itemsBefore.has(getItemKey(item))),
    removedItems: before.items.filter((item) => !itemsAfter.has(getItemKey(item))),
    changedItems: after.items.flatMap((item) => {
      const previous = itemsBefore.get(getItemKey(item));
      return previous === undefined || JSON.stringify(previous) === JSON.stringify(item)
        ? []
        : { before: previous, after: item };
    }),
  };
}

/** Lists the findings that approvers must see, including failed lookups, as strings that can be compared. */
export function listFindingKeys({ items }: Impact): string[] {
  return [...new Set(items.filter(({ severity }) => severity !== 'note').flatMap(listItemFindingKeys))];
}

/** Addresses aren't findings, because many websites change them often. */
function listItemFindingKeys(item: ImpactItem): string[] {
  switch (item.code) {
    case 'dependents':
      return [
        `${item.by} ${item.count} ${item.privateCount}`,
        ...item.names.map((name) => `${item.by} ${name}`),
      ];
    case 'unseen':
      // Failures of the four website lookups are one finding.
      return item.facts.map((fact) => `unseen ${WEB_FACTS.includes(fact) ? 'website' : fact}`);
    case 'records_unseen':
    case 'records_differ':
      return [getItemKey(item)];
    case 'mail':
      return item.servers.map((server) => `mail ${server}`);
    default:
      return 'hosts' in item ? item.hosts.map((host) => `${item.code} ${host}`) : [item.code];
  }
}

export function isFullyChecked({ items }: Impact): boolean {
  return items.every(({ severity }) => severity !== 'unseen');
}

export const MAX_CURRENT_FACT_AGE_MS = HOUR_MS;

/** Stale facts still cause warnings, but they no longer count as proof that a task is safe. */
export function markStaleImpact(impact: Impact, now: Date): Impact {
  if (now.getTime() - impact.seenAt.getTime() <= MAX_CURRENT_FACT_AGE_MS) return impact;
  const otherItems = impact.items.filter((item) => item.code !== 'unseen');
  const unseenFacts = impact.items.flatMap((item) => (item.code === 'unseen' ? item.facts : []));
  const facts = [...new Set([...USAGE_FACTS, ...unseenFacts])];
  const ready = impact.areNewNameserversReady;
  return {
    ...impact,
    items: [...otherItems, { code: 'unseen', severity: 'unseen', reason: 'stale', facts } as const].sort(
      compareItems,
    ),
    isInUse: impact.isInUse === 'no' ? 'unknown' : impact.isInUse,
    areNewNameserversReady: ready === 'yes' ? 'unknown' : ready,
  };
}

/** The key is unique within an impact. */
function getItemKey(item: ImpactItem): string {
  switch (item.code) {
    case 'records_differ':
      return `${item.code} ${item.fact} ${item.onNewServer.join(' ')}`;
    case 'records_unseen':
      return `${item.code} ${item.host}`;
    case 'dependents':
      return `${item.code} ${item.by}`;
    case 'unseen':
      return `${item.code} ${item.reason}`;
    default:
      return item.code;
  }
}

function compareItems(a: ImpactItem, b: ImpactItem): number {
  return CODES_WORST_FIRST.indexOf(a.code) - CODES_WORST_FIRST.indexOf(b.code);
}

function getUsageSeverity({ task, nameserverChecks }: ImpactInput): Severity {
  if (task === 'delete' || task === 'lapse') return 'stops';
  return task === 'nameservers' && areServersReady(nameserverChecks) === 'no' ? 'stops' : 'at_stake';
}

function listUsageItems(input: ImpactInput): ImpactItem[] {
  const severity = getUsageSeverity(input);
  const getValue = (fact: FactName) =>
    getFactValue(input.facts[fact]) ?? getFactValue(input.earlierFacts[fact]) ?? [];
  const servers = parseMailServers(getValue('mx'));
  const addresses = [...new Set(WEB_FACTS.flatMap(getValue))].sort();
  const hasAnyValue = (facts: readonly FactName[]) => facts.some((fact) => getValue(fact).length > 0);
  const hosts = [
    ...(hasAnyValue(['a', 'aaaa']) ? [getValue('cname')[0] ?? '@'] : []),
    ...(hasAnyValue(['www_a', 'www_aaaa']) ? [getValue('www_cname')[0] ?? 'www'] : []),
  ];
  const isSigned = getValue('ds').length > 0;
  return [
    ...(servers.length > 0 ? [{ code: 'mail' as const, severity, servers }] : []),
    ...(addresses.length > 0 ? [{ code: 'website' as const, severity, addresses, hosts }] : []),
    ...(isSigned ? [{ code: 'signed' as const, severity: 'note' as const }] : []),
  ];
}

function parseMailServers(mx: FactValue): string[] {
  return mx.filter((text) => text !== NULL_MX).map((text) => text.slice(text.indexOf(' ') + 1));
}

function listDependentItems(input: ImpactInput): ImpactItem[] {
  const { dependents } = input;
  if (dependents === undefined) return [{ code: 'dependents_unseen', severity: 'unseen' }];
  const severity = getUsageSeverity(input);
  return DEPENDENCIES.flatMap((by) =>
    dependents[by].count === 0 ? [] : { code: 'dependents' as const, severity, by, ...dependents[by] },
  );
}

function listUnseenItems({ task, facts }: ImpactInput): ImpactItem[] {
  const neededFacts = [
    ...USAGE_FACTS,
    ...(task === 'nameservers' ? (['ds'] as const) : []),
    ...(task === 'authcode' || task === 'owner-change' ? (['statuses'] as const) : []),
  ];
  const factsByReason = new Map<UnknownReason, FactName[]>();
  for (const name of neededFacts) {
    const fact = facts[name] ?? { state: 'unseen', reason: 'stale' };
    if (fact.state !== 'unseen') continue;
    factsByReason.set(fact.reason, [...(factsByReason.get(fact.reason) ?? []), name]);
  }
  return [...factsByReason].map(([reason, names]) => ({
    code: 'unseen',
    severity: 'unseen',
    reason,
    facts: names,
  }));
}

/** Anyone with the auth code can transfer a name that isn't locked. */
function listLockItems({ task, facts }: ImpactInput): ImpactItem[] {
  const statuses = getFactValue(facts.statuses);
  const isRelevant = task === 'authcode' || task === 'owner-change';
  const isLocked = statuses?.some(isTransferLock);
  return isRelevant && isLocked === false ? [{ code: 'no_transfer_lock', severity: 'note' }] : [];
}

function listNameserverItems(checks: readonly NameserverCheck[] | undefined): ImpactItem[] {
  if (checks === undefined || checks.length === 0) {
    return [{ code: 'new_nameservers_unchecked', severity: 'unseen' }];
  }
  const toItems = (
    code: Exclude<Extract<ImpactItem, { readonly hosts: unknown }>['code'], 'records_differ' | 'website'>,
    severity: Severity,
    matches: (check: NameserverCheck) => boolean,
  ): ImpactItem[] => {
    const hosts = checks.filter(matches).map(({ host }) => host);
    return hosts.length === 0 ? [] : [{ code, severity, hosts }];
  };
  return [
    ...toItems('new_nameservers_not_authoritative', 'stops', ({ state }) => state === 'not_authoritative'),
    ...toItems('new_nameservers_silent', 'stops', ({ state }) => state === 'no_answer'),
    ...toItems('new_nameservers_without_address', 'stops', ({ state }) => state === 'no_address'),
    ...toItems('new_nameservers_unseen', 'unseen', ({ state }) => state === 'unseen'),
    ...toItems('ds_mismatch', 'stops', ({ ds }) => ds === 'mismatch'),
    ...toItems('ds_unseen', 'unseen', ({ state, ds }) => state === 'authoritative' && ds === 'unknown'),
    ...listRecordItems(checks),
  ];
}

function listRecordItems(checks: readonly NameserverCheck[]): ImpactItem[] {
  const items = new Map<string, Extract<ImpactItem, { readonly code: 'records_differ' }>>();
  for (const { host, differences } of checks) {
    for (const { fact, now, onNewServer } of differences) {
      const key = `${fact} ${onNewServer.join(' ')}`;
      const hosts = [...(items.get(key)?.hosts ?? []), host];
      items.set(key, { code: 'records_differ', severity: 'stops', fact, hosts, now, onNewServer });
    }
  }
  const unseenItems = checks.flatMap(({ host, state, uncomparedFacts: facts }) =>
    state === 'authoritative' && facts.length > 0
      ? { code: 'records_unseen' as const, severity: 'unseen' as const, host, facts }
      : [],
  );
  return [...items.values(), ...unseenItems];
}

function isUsageKnown({ facts, dependents }: ImpactInput): boolean {
  return dependents !== undefined && USAGE_FACTS.every((fact) => getFactValue(facts[fact]) !== undefined);
}

function areServersReady(checks: readonly NameserverCheck[] | undefined): YesNoUnknown {
  if (checks === undefined || checks.length === 0) return 'unknown';
  const brokenStates: readonly NameserverCheck['state'][] = ['not_authoritative', 'no_answer', 'no_address'];
  if (checks.some(({ state, ds }) => brokenStates.includes(state) || ds === 'mismatch')) return 'no';
  return checks.some(({ state, ds }) => state === 'unseen' || ds === 'unknown') ? 'unknown' : 'yes';
}
