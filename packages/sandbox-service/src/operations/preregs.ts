import { domainToUnicode } from 'node:url';
import type { PreregRecord } from '../model.ts';
import { Refusal } from '../refusal.ts';
import type { Caller, ServiceState } from './caller.ts';

/** “Preregistration search” in the service's API documentation. */
export const PREREG_FILTER_KEYS = [
  'sld',
  'tld',
  'subtld',
  'id',
  'prereg_config.confirmation_start',
  'prereg_config.confirmation_end',
  'prereg_config.period_start',
  'prereg_config.period_end',
] as const;
type PreregFilterKey = (typeof PREREG_FILTER_KEYS)[number];

/** Keys of the data that a search adds to each record on request. */
export const PREREG_EXTRA_KEYS = ['tmch_mark', 'extension', 'nsentry'] as const;
export type PreregExtraKey = (typeof PREREG_EXTRA_KEYS)[number];

export interface PreregSearch {
  /** Whether to include the records of sub-users. */
  readonly children: boolean;
  readonly offset: number;
  readonly limit: number;
  readonly filters: readonly {
    readonly key: PreregFilterKey;
    readonly matches: (value: string) => boolean;
  }[];
  readonly orderBy?: PreregOrderKey | undefined;
}

export const PREREG_ORDER_KEYS = ['name', 'created', 'updated', 'status', 'phase', 'period'] as const;
type PreregOrderKey = (typeof PREREG_ORDER_KEYS)[number];

const MAX_LIMIT = 1000;

/** @returns the requested page, and the number of all matching records as `summary` */
export function searchPreregs(
  service: ServiceState,
  caller: Caller,
  search: PreregSearch,
): { summary: number; records: readonly PreregRecord[] } {
  if (search.limit < 1 || search.limit > MAX_LIMIT)
    throw new Refusal('rule', `view.limit: 1 to ${MAX_LIMIT}`);
  if (search.offset < 0) throw new Refusal('rule', 'view.offset: 0 or more');
  const matchingPreregs = service.state.data.preregs.filter(
    (prereg) =>
      prereg.group === caller.group &&
      prereg.owner.context === caller.context &&
      (search.children || !isSubUser(service, prereg.owner)) &&
      search.filters.every((filter) => filter.matches(getFilterValue(prereg, filter.key))),
  );
  const { orderBy } = search;
  if (orderBy !== undefined) matchingPreregs.sort((a, b) => compareValues(a[orderBy], b[orderBy]));
  return {
    summary: matchingPreregs.length,
    records: matchingPreregs.slice(search.offset, search.offset + search.limit),
  };
}

function isSubUser(service: ServiceState, owner: { user: string; context: number }): boolean {
  const user = service.state.findUser(owner.user, owner.context);
  return user !== undefined && user.owner.user !== user.user;
}

function getFilterValue(record: PreregRecord, key: PreregFilterKey): string {
  const labels = record.name.split('.');
  switch (key) {
    case 'sld':
      return labels[0] ?? '';
    case 'tld':
      return labels.at(-1) ?? '';
    case 'subtld':
      return labels.slice(1).join('.');
    case 'id':
      return String(record.id);
    case 'prereg_config.confirmation_start':
      return formatServiceTime(record.config.confirmation_start);
    case 'prereg_config.confirmation_end':
      return formatServiceTime(record.config.confirmation_end);
    case 'prereg_config.period_start':
      return formatServiceTime(record.config.period_start);
    case 'prereg_config.period_end':
      return formatServiceTime(record.config.period_end);
  }
}

function compareValues(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** `YYYY-MM-DD hh:mm:ss`, in UTC. */
export function formatServiceTime(time: number): string {
  return new Date(time).toISOString().slice(0, 19).replace('T', ' ');
}

/** Returns invented values, because only the keys are documented. */
export function buildPreregExtras(record: PreregRecord): Record<PreregExtraKey, Record<string, string>> {
  return {
    tmch_mark: { id: `mark-${record.id}`, name: domainToUnicode(record.name) },
    extension: { tier: record.recommended ? 'premium' : 'standard' },
    nsentry: { ttl: '3600' },
  };
}
