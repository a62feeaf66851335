import { DAY_MS } from '../lib/duration.ts';
import { type BudgetSpan, getPeriod } from '../money/budget.ts';
import type { OrderCost } from '../money/prices.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import type { SystemViewer } from '../orders/ports.ts';
import { canSee, filterVisibleIds, type PersonViewer } from '../orders/visibility.ts';
import { getUtcDay } from '../zones/calendar-day.ts';
import {
  decideRenewal,
  findExceededLimit,
  type SendPlan,
  type UsedAmounts,
  willActInTime,
} from './acting.ts';
import type { HoldReason } from './codes.ts';
import { loadRenewal, loadReservation } from './facts.ts';
import { loadActiveMandates } from './life.ts';
import { type ActiveMandate, findApplicableMandate, type Mandate } from './mandate.ts';
import type { MandateAct, MandateName } from './ports.ts';
import type { MandateTerms } from './terms.ts';

/** Overviews of pending and active mandates. */

export interface MandateStatus extends ActiveMandate {
  readonly history: readonly OrderLogEntry[];
  /** The current month or year, to which the mandate's total applies. */
  readonly period: string;
  /** Spent in the period, in minor units. */
  readonly booked: bigint;
  /** Reserved for orders without a known result, in minor units. */
  readonly reserved: bigint;
  /** Names to be renewed within 30 days, soonest first. */
  readonly upcoming: readonly MandateName[];
  /** Acts of the last 30 days, latest first. */
  readonly acts: readonly MandateAct[];
}

const SHOWN_DAYS = 30;
/** Maximum number of names read to find upcoming renewals. */
const MAX_UPCOMING = 1_000;

/** The active mandates that a person may see, oldest first, and the number of other active mandates. */
export async function loadMandateStatuses(
  deps: OrdersContext,
  viewer: PersonViewer,
): Promise<{ readonly shown: readonly MandateStatus[]; readonly hidden: number }> {
  const now = deps.now();
  const activeMandates = await loadActiveMandates(deps, 'system');
  const ids = activeMandates.map(({ order }) => order.id);
  const visibleIds = await filterVisibleIds(deps, viewer, ids);
  const visibleMandates = activeMandates.filter(({ order }) => visibleIds.has(order.id));
  const hidden = activeMandates.length - visibleMandates.length;
  if (visibleMandates.length === 0) return { shown: [], hidden };
  const upcoming = await findUpcomingNames(
    deps,
    activeMandates.map(({ mandate }) => mandate),
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

/** The month or year that contains a day. `until` is the first day after the period. */
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
  const namesByMandate = new Map<string, MandateName[]>();
  for (const name of names) {
    const mandatesInTime = mandates.filter((mandate) => willActInTime(mandate, name, now));
    const mandate = findApplicableMandate(mandatesInTime, name.name, affectedTags.get(name.name) ?? [], now);
    const actsAt = name.expiresAt.getTime() - (mandate?.terms.notice ?? 0) * DAY_MS;
    if (mandate === undefined || actsAt > now.getTime() + SHOWN_DAYS * DAY_MS) continue;
    namesByMandate.set(mandate.id, [...(namesByMandate.get(mandate.id) ?? []), name]);
  }
  return namesByMandate;
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

/** The mandate that will renew each name, by name. */
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
      const mandatesInTime = mandates
        .map(({ mandate }) => mandate)
        .filter((mandate) => expiresAt === undefined || willActInTime(mandate, { name, expiresAt }, now));
      const applicable = findApplicableMandate(mandatesInTime, name, affectedTags.get(name) ?? [], now);
      const activeMandate = mandates.find(({ mandate }) => mandate === applicable);
      return activeMandate === undefined ? [] : [[name, activeMandate] as const];
    }),
  );
}

/** The names that a mandate would cover today, with their prices. */
export interface MandatePreview {
  readonly names: readonly string[];
  /** The price of renewing all names for one year, at the prices of a year ago. */
  readonly lastYear: OrderCost | undefined;
  /** The price of renewing all names for one year, at today's prices. */
  readonly nextYear: OrderCost | undefined;
  /** Names that the mandate wouldn't renew now, each with the reason. */
  readonly heldNames: readonly { readonly name: string; readonly holdReason: HoldReason }[];
  /** Names for which an older mandate applies. */
  readonly coveredByOthers: readonly string[];
}

export async function loadPreview(
  deps: OrdersContext,
  order: Order,
  terms: MandateTerms,
): Promise<MandatePreview> {
  const now = deps.now();
  const names = await deps.mandates.findMatchingNames(terms.mandate_names);
  const [watched, lastYear, nextYear, mandateByName] = await Promise.all([
    deps.mandates.findMany(names),
    deps.priceRenewals(names, getUtcDay(new Date(now.getTime() - 365 * DAY_MS))),
    deps.priceRenewals(names, getUtcDay(now)),
    findCoveringMandates(
      deps,
      names.map((name) => ({ name })),
      'system',
    ),
  ]);
  const nothingUsed: UsedAmounts = { byDay: [], countOn: () => 0 };
  const watchedByName = new Map(watched.map((name) => [name.name, name]));
  return {
    names,
    lastYear,
    nextYear,
    heldNames: names.flatMap((name, index) => {
      const amount = nextYear.names[index]?.quote?.amount;
      const holdReason =
        findExceededLimit(terms, amount, getUtcDay(now), nothingUsed) ??
        (watchedByName.get(name)?.isDateCertain ? undefined : 'date_in_doubt');
      return holdReason === undefined ? [] : [{ name, holdReason }];
    }),
    coveredByOthers: names.filter((name) => (mandateByName.get(name)?.mandate.id ?? order.id) !== order.id),
  };
}

/** Returns a function that checks whether an active mandate will renew a name. */
export async function createMandateCheck(
  deps: OrdersContext,
): Promise<(expiry: { readonly name: string; readonly expiresAt: Date }) => boolean> {
  const now = deps.now();
  const coverages = await Promise.all(
    (await loadActingMandates(deps, 'system')).map(async ({ mandate }) => {
      const names = new Set(await deps.mandates.findMatchingNames(mandate.terms.mandate_names));
      return { mandate, names };
    }),
  );
  return (expiry) =>
    coverages.some(({ mandate, names }) => names.has(expiry.name) && willActInTime(mandate, expiry, now));
}

export interface CoveringMandate {
  /** Undefined if the viewer may not see the mandate. */
  readonly mandate: ActiveMandate | undefined;
  /** The mandate ends before it would renew the name. */
  readonly endsBeforeRenewal: boolean;
}

/** The mandate that applies to a name; undefined if no active mandate covers the name. */
export async function findCoveringMandate(
  deps: OrdersContext,
  name: string,
  viewer: PersonViewer,
): Promise<CoveringMandate | undefined> {
  const expiresAt = (await deps.mandates.find(name))?.expiresAt;
  const mandateInTime = (await findCoveringMandates(deps, [{ name, expiresAt }], 'system')).get(name);
  const activeMandate = mandateInTime ?? (await findCoveringMandates(deps, [{ name }], 'system')).get(name);
  if (activeMandate === undefined) return undefined;
  const isVisible = await canSee(deps, activeMandate.order, viewer);
  return { mandate: isVisible ? activeMandate : undefined, endsBeforeRenewal: mandateInTime === undefined };
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
  /** When mandates will renew names, by name. */
  readonly renewals: ReadonlyMap<string, Date>;
  /** Names that will be lost: without an owner, a mandate or a renewal order. */
  readonly uncovered: readonly string[];
}

export async function loadRenewalForecast(
  deps: OrdersContext,
  watched: readonly (ExpiringName & { readonly owner?: string | undefined })[],
  viewer: SystemViewer,
): Promise<RenewalForecast> {
  const plannedTimes = await planRenewals(deps, await findCoveringMandates(deps, watched, viewer));
  // Read after planning, which leaves out names with an order: a mandate may have just ordered one.
  const openOrderIds = await deps.store.findOpenOrders(
    'renew',
    watched.map(({ name }) => name),
  );
  const sendTimes = new Map([...plannedTimes, ...(await loadScheduledRenewals(deps, openOrderIds, viewer))]);
  const renewals = new Map<string, Date>();
  for (const { name, expiresAt } of await deps.mandates.findMany([...sendTimes.keys()])) {
    const sendAt = sendTimes.get(name);
    if (sendAt !== undefined && sendAt < expiresAt) renewals.set(name, sendAt);
  }
  const uncovered = watched.filter(
    ({ name, owner }) => owner === undefined && !renewals.has(name) && !openOrderIds.has(name),
  );
  return { renewals, uncovered: uncovered.map(({ name }) => name) };
}

/** When mandates' existing orders will be sent, by name. @param openOrderIds by name */
async function loadScheduledRenewals(
  { store, now }: OrdersContext,
  openOrderIds: ReadonlyMap<string, string>,
  viewer: SystemViewer,
): Promise<readonly (readonly [string, Date])[]> {
  const orders = await Promise.all([...new Set(openOrderIds.values())].map((id) => store.load(id, viewer)));
  return orders.flatMap((order) => {
    if (order?.mandate === undefined || !(order.state === 'APPROVED' || order.state === 'EXECUTING'))
      return [];
    const sendAt = new Date(Math.max((order.sendAfter ?? now()).getTime(), now().getTime()));
    return order.items.map(({ name }) => [name, sendAt] as const);
  });
}

/** When mandates will renew names that have no order yet, by name. */
async function planRenewals(
  deps: OrdersContext,
  mandateByName: ReadonlyMap<string, ActiveMandate>,
): Promise<readonly (readonly [string, Date])[]> {
  const now = deps.now().getTime();
  const usedByMandate = new Map<string, UsedAmounts>();
  const sendTimes: [string, Date][] = [];
  for (const name of await deps.mandates.filterUpcoming([...mandateByName.keys()])) {
    const activeMandate = mandateByName.get(name.name);
    if (activeMandate === undefined) continue;
    const { mandate } = activeMandate;
    // Read before the name's open order, so that an order that is created now isn't counted twice.
    const used = usedByMandate.get(mandate.id) ?? (await deps.mandates.loadUsedAmounts(mandate.id));
    const loaded = await loadRenewal(deps, activeMandate.order, name);
    if (loaded === undefined || loaded.hasOpenOrder) continue;
    const actsAt = Math.max(name.expiresAt.getTime() - mandate.terms.notice * DAY_MS, now);
    const plan = decideRenewal(mandate, loaded.facts, used, new Date(actsAt));
    if (typeof plan === 'string') continue;
    if ((await loadReservation(deps, name.name, loaded, plan.day)) === undefined) continue;
    usedByMandate.set(mandate.id, addPlan(used, plan));
    sendTimes.push([name.name, plan.sendAfter]);
  }
  return sendTimes;
}

export function addPlan({ byDay, countOn }: UsedAmounts, { day, amount }: SendPlan): UsedAmounts {
  return {
    byDay: [...byDay, { day, minor: BigInt(amount.minor) }],
    countOn: (otherDay) => countOn(otherDay) + (otherDay === day ? 1 : 0),
  };
}
