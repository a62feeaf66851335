import { DAY_MS } from '../lib/duration.ts';
import { type BudgetSpan, getPeriod } from '../money/budget.ts';
import type { OrderCost } from '../money/prices.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import type { SystemViewer } from '../orders/ports.ts';
import { canSee, filterVisibleIds, type PersonViewer } from '../orders/visibility.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import { actsInTime, decideRenewal, findExceededLimit, type SendPlan, type UsedAmounts } from './acting.ts';
import type { HoldReason } from './codes.ts';
import { loadName, loadReservation } from './facts.ts';
import { loadActiveMandates } from './life.ts';
import { type ActiveMandate, findApplicableMandate, type Mandate } from './mandate.ts';
import type { MandateAct, MandateName } from './ports.ts';
import type { MandateTerms } from './terms.ts';

/** Overviews of mandates, before the decision and while active. */

/** An active mandate, with its past and upcoming renewals. */
export interface MandateStatus extends ActiveMandate {
  readonly history: readonly OrderLogEntry[];
  /** The current month or year that its total applies to. */
  readonly period: string;
  /** In minor units of its currency: spent, plus reserved for unanswered orders. */
  readonly booked: bigint;
  readonly reserved: bigint;
  /** Names that it will renew within 30 days, soonest first. */
  readonly upcoming: readonly MandateName[];
  /** Its acts of the last 30 days, latest first. */
  readonly acts: readonly MandateAct[];
}

const SHOWN_DAYS = 30;
/** Maximum number of names read to find upcoming renewals. */
const MAX_UPCOMING = 1_000;

/** The active mandates that a person may see, oldest first, and how many more there are. */
export async function loadMandateStatuses(
  deps: OrdersContext,
  viewer: PersonViewer,
): Promise<{ readonly shown: readonly MandateStatus[]; readonly hidden: number }> {
  const now = deps.now();
  const all = await loadActiveMandates(deps, 'system');
  const ids = all.map(({ order }) => order.id);
  const visible = await filterVisibleIds(deps, viewer, ids);
  const visibleMandates = all.filter(({ order }) => visible.has(order.id));
  const hidden = all.length - visibleMandates.length;
  if (visibleMandates.length === 0) return { shown: [], hidden };
  const upcoming = await findUpcomingNames(
    deps,
    all.map(({ mandate }) => mandate),
  );
  const shown = await Promise.all(
    visibleMandates.map(async ({ order, mandate }): Promise<MandateStatus> => {
      const { from, until, period } = getPeriodBounds(mandate.terms.span, getUtcDay(now));
      const [spent, acts, history] = await Promise.all([
        deps.mandates.loadSpending(mandate.id, from, until),
        deps.mandates.listActs(mandate.id, new Date(now.getTime() - SHOWN_DAYS * DAY_MS)),
        deps.store.loadHistory(order.id, 'system'),
      ]);
      return { order, mandate, history, period, ...spent, acts, upcoming: upcoming.get(mandate.id) ?? [] };
    }),
  );
  return { shown, hidden };
}

/** The first day of a month or year, and the first day after it. */
export function getPeriodBounds(span: BudgetSpan, day: string) {
  const period = getPeriod(span, day);
  const from = span === 'month' ? `${period}-01` : `${period}-01-01`;
  const next = new Date(from);
  if (span === 'month') next.setUTCMonth(next.getUTCMonth() + 1);
  else next.setUTCFullYear(next.getUTCFullYear() + 1);
  return { period, from, until: getUtcDay(next) };
}

/** The names that each mandate will renew within 30 days. */
async function findUpcomingNames(
  deps: OrdersContext,
  mandates: readonly Mandate[],
): Promise<ReadonlyMap<string, readonly MandateName[]>> {
  const now = deps.now();
  const notice = Math.max(...mandates.map(({ terms }) => terms.notice));
  const until = new Date(now.getTime() + (SHOWN_DAYS + notice) * DAY_MS);
  const names = await deps.mandates.listDue(now, until, undefined, MAX_UPCOMING);
  const affectedTags = await deps.loadAffectedTags(names.map(({ name }) => name));
  return groupUpcomingNames(mandates, names, affectedTags, now);
}

/** @param affectedTags by name */
export function groupUpcomingNames(
  mandates: readonly Mandate[],
  names: readonly MandateName[],
  affectedTags: ReadonlyMap<string, readonly string[]>,
  now: Date,
): ReadonlyMap<string, readonly MandateName[]> {
  const found = new Map<string, MandateName[]>();
  for (const name of names) {
    const inTime = mandates.filter((mandate) => actsInTime(mandate, name, now));
    const mandate = findApplicableMandate(inTime, name.name, affectedTags.get(name.name) ?? [], now);
    const actsAt = name.expiresAt.getTime() - (mandate?.terms.notice ?? 0) * DAY_MS;
    if (mandate === undefined || actsAt > now.getTime() + SHOWN_DAYS * DAY_MS) continue;
    found.set(mandate.id, [...(found.get(mandate.id) ?? []), name]);
  }
  return found;
}

/** Without a domain service, mandates renew nothing. */
async function loadActingMandates(
  deps: OrdersContext,
  viewer: SystemViewer,
): Promise<readonly ActiveMandate[]> {
  return deps.serviceEndpoints.jsonUrl === undefined ? [] : loadActiveMandates(deps, viewer);
}

interface ExpiringName {
  readonly name: string;
  readonly expiresAt?: Date | undefined;
}

/** Active mandates that cover some names and don't end before the renewal. */
async function findCoveringMandates(
  deps: OrdersContext,
  names: readonly ExpiringName[],
  viewer: SystemViewer,
): Promise<ReadonlyMap<string, ActiveMandate>> {
  const now = deps.now();
  const mandates = await loadActingMandates(deps, viewer);
  if (mandates.length === 0) return new Map();
  const affectedTags = await deps.loadAffectedTags(names.map(({ name }) => name));
  return new Map(
    names.flatMap(({ name, expiresAt }) => {
      const inTime = mandates
        .map(({ mandate }) => mandate)
        .filter((mandate) => expiresAt === undefined || actsInTime(mandate, { name, expiresAt }, now));
      const chosen = findApplicableMandate(inTime, name, affectedTags.get(name) ?? [], now);
      const found = mandates.find(({ mandate }) => mandate === chosen);
      return found === undefined ? [] : [[name, found] as const];
    }),
  );
}

/** The names that a mandate covers today, and their prices. */
export interface MandatePreview {
  readonly names: readonly string[];
  /** The price of one year for all its names, a year ago and today. */
  readonly lastYear: OrderCost | undefined;
  readonly nextYear: OrderCost | undefined;
  /** Names that it wouldn't renew now, each with the reason. */
  readonly held: readonly { readonly name: string; readonly holdReason: HoldReason }[];
  /** Names for which an older mandate applies. */
  readonly others: readonly string[];
}

/** Previews a pending mandate, including the names that it wouldn't renew. */
export async function loadPreview(
  deps: OrdersContext,
  order: Order,
  terms: MandateTerms,
): Promise<MandatePreview> {
  const now = deps.now();
  const names = await deps.mandates.findMatchingNames(terms.mandate_names);
  const [watched, lastYear, nextYear, covering] = await Promise.all([
    deps.mandates.findMany(names),
    deps.priceRenewals(names, getUtcDay(new Date(now.getTime() - 365 * DAY_MS))),
    deps.priceRenewals(names, getUtcDay(now)),
    findCoveringMandates(
      deps,
      names.map((name) => ({ name })),
      'system',
    ),
  ]);
  const nothingUsed = { byDay: [], countOn: () => 0 };
  const known = new Map(watched.map((name) => [name.name, name]));
  return {
    names,
    lastYear,
    nextYear,
    held: names.flatMap((name, index) => {
      const amount = nextYear.names[index]?.quote?.amount;
      const holdReason =
        findExceededLimit(terms, amount, getUtcDay(now), nothingUsed) ??
        (known.get(name)?.isDateCertain ? undefined : 'date_in_doubt');
      return holdReason === undefined ? [] : [{ name, holdReason }];
    }),
    others: names.filter((name) => (covering.get(name)?.mandate.id ?? order.id) !== order.id),
  };
}

/** Creates a check for expiries that an active mandate will handle in time. */
export async function createMandateCheck(
  deps: OrdersContext,
): Promise<(end: { readonly name: string; readonly expiresAt: Date }) => boolean> {
  const now = deps.now();
  const covering = await Promise.all(
    (await loadActingMandates(deps, 'system')).map(async ({ mandate }) => {
      const names = new Set(await deps.mandates.findMatchingNames(mandate.terms.mandate_names));
      return { mandate, names };
    }),
  );
  return (end) => covering.some(({ mandate, names }) => names.has(end.name) && actsInTime(mandate, end, now));
}

export interface CoveringMandate {
  /** Undefined if the viewer may not see it. */
  readonly mandate: ActiveMandate | undefined;
  /** The mandate ends before it would renew the name. */
  readonly endsBeforeRenewal: boolean;
}

/** The mandate that covers a name. If there are several, the one that applies; undefined if there is none. */
export async function findCoveringMandate(
  deps: OrdersContext,
  name: string,
  viewer: PersonViewer,
): Promise<CoveringMandate | undefined> {
  const expiresAt = (await deps.mandates.find(name))?.expiresAt;
  const coveringInTime = (await findCoveringMandates(deps, [{ name, expiresAt }], 'system')).get(name);
  const covering = coveringInTime ?? (await findCoveringMandates(deps, [{ name }], 'system')).get(name);
  if (covering === undefined) return undefined;
  const isVisible = await canSee(deps, covering.order, viewer);
  return { mandate: isVisible ? covering : undefined, endsBeforeRenewal: coveringInTime === undefined };
}

/** Active mandates that a person requested or approved. */
export async function findMandatesByPerson(
  deps: OrdersContext,
  userId: string,
): Promise<readonly ActiveMandate[]> {
  return (await loadActingMandates(deps, 'system')).filter(
    ({ order }) =>
      order.requesterId === userId || order.approvals.some((approval) => approval.userId === userId),
  );
}

/** The future of names if no one acts. */
export interface RenewalForecast {
  /** When mandates will renew names, if nothing changes. */
  readonly renewals: ReadonlyMap<string, Date>;
  /** Names that will be lost: no owner, no mandate and no order to renew them. */
  readonly uncovered: readonly string[];
}

export async function loadRenewalForecast(
  deps: OrdersContext,
  watched: readonly (ExpiringName & { readonly owner?: string | undefined })[],
  viewer: SystemViewer,
): Promise<RenewalForecast> {
  const names = watched.map(({ name }) => name);
  const [openOrderIds, covering] = await Promise.all([
    deps.store.findOpenOrders('renew', names),
    findCoveringMandates(deps, watched, viewer),
  ]);
  const planned = new Map([
    ...(await loadPendingRenewals(deps, openOrderIds, viewer)),
    ...(await planRenewals(deps, covering)),
  ]);
  const renewals = new Map<string, Date>();
  for (const { name, expiresAt } of await deps.mandates.findMany([...planned.keys()])) {
    const at = planned.get(name);
    if (at !== undefined && at < expiresAt) renewals.set(name, at);
  }
  const uncovered = watched.filter(
    ({ name, owner }) => owner === undefined && !renewals.has(name) && !openOrderIds.has(name),
  );
  return { renewals, uncovered: uncovered.map(({ name }) => name) };
}

/** When the existing orders of mandates are sent. @param openOrderIds by name */
async function loadPendingRenewals(
  { store, now }: OrdersContext,
  openOrderIds: ReadonlyMap<string, string>,
  viewer: SystemViewer,
): Promise<readonly (readonly [string, Date])[]> {
  const orders = await Promise.all([...new Set(openOrderIds.values())].map((id) => store.load(id, viewer)));
  return orders.flatMap((order) => {
    if (order?.mandate === undefined || !(order.state === 'APPROVED' || order.state === 'EXECUTING'))
      return [];
    const at = new Date(Math.max((order.sendAfter ?? now()).getTime(), now().getTime()));
    return order.items.map(({ name }) => [name, at] as const);
  });
}

/** When mandates will renew the remaining names, by the same rules. */
async function planRenewals(
  deps: OrdersContext,
  covering: ReadonlyMap<string, ActiveMandate>,
): Promise<readonly (readonly [string, Date])[]> {
  const now = deps.now().getTime();
  const usedByMandate = new Map<string, UsedAmounts>();
  const found: [string, Date][] = [];
  for (const name of await deps.mandates.filterUpcoming([...covering.keys()])) {
    const chosen = covering.get(name.name);
    const loaded = chosen && (await loadName(deps, chosen.order, name));
    if (chosen === undefined || loaded === undefined || loaded.hasOpenOrder) continue;
    const { mandate } = chosen;
    const used = usedByMandate.get(mandate.id) ?? (await deps.mandates.loadUsedAmounts(mandate.id));
    const actsAt = Math.max(name.expiresAt.getTime() - mandate.terms.notice * DAY_MS, now);
    const plan = decideRenewal(mandate, loaded.facts, used, new Date(actsAt));
    if (typeof plan === 'string') continue;
    if ((await loadReservation(deps, name.name, loaded, plan.day)) === undefined) continue;
    usedByMandate.set(mandate.id, addPlan(used, plan));
    found.push([name.name, plan.sendAfter]);
  }
  return found;
}

/** The used amounts after one more order. */
export function addPlan({ byDay, countOn }: UsedAmounts, { day, amount }: SendPlan): UsedAmounts {
  return {
    byDay: [...byDay, { day, minor: BigInt(amount.minor) }],
    countOn: (on) => countOn(on) + (on === day ? 1 : 0),
  };
}
