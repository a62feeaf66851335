import { DAY_MS } from '../lib/duration.ts';
import { type BudgetSpan, getPeriod } from '../money/budget.ts';
import type { OrderCost } from '../money/prices.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import type { SystemViewer } from '../orders/ports.ts';
import { canSee, filterVisibleOrderIds, type PersonViewer } from '../orders/visibility.ts';
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
  readonly upcomingNames: readonly MandateName[];
  /** Acts of the last 30 days, latest first. */
  readonly acts: readonly MandateAct[];
}

const SHOWN_DAYS = 30;
/** Maximum number of names read to find upcoming renewals. */
const MAX_UPCOMING_NAMES = 1_000;

/** The active mandates that a person may see, oldest first, and the number of other active mandates. */
export async function loadMandateStatuses(
  deps: OrdersContext,
  viewer: PersonViewer,
): Promise<{ readonly statuses: readonly MandateStatus[]; readonly hiddenCount: number }> {
  const now = deps.now();
  const activeMandates = await loadActiveMandates(deps, 'system');
  const ids = activeMandates.map(({ order }) => order.id);
  const visibleIds = await filterVisibleOrderIds(deps, viewer, ids);
  const visibleMandates = activeMandates.filter(({ order }) => visibleIds.has(order.id));
  const hiddenCount = activeMandates.length - visibleMandates.length;
  if (visibleMandates.length === 0) return { statuses: [], hiddenCount };
  const upcomingByMandate = await findUpcomingNames(
    deps,
    activeMandates.map(({ mandate }) => mandate),
  );
  const statuses = await Promise.all(
    visibleMandates.map(async ({ order, mandate }): Promise<MandateStatus> => {
      const { from, until, period } = getPeriodBounds(mandate.terms.span, getUtcDay(now));
      const [spent, acts, history] = await Promise.all([
        deps.mandates.loadSpending(mandate.id, from, until),
        deps.mandates.listActs(mandate.id, new Date(now.getTime() - SHOWN_DAYS * DAY_MS)),
        deps.store.loadHistory(order.id, 'system'),
      ]);
      return {
        order,
        mandate,
        history,
        period,
        ...spent,
        acts,
        upcomingNames: upcomingByMandate.get(mandate.id) ?? [],
      };
    }),
  );
  return { statuses, hiddenCount };
}

/** The month or year that contains a day. `until` is the first day after the period. */
export function getPeriodBounds(span: BudgetSpan, day: string) {
  const period = getPeriod(span, day);
  const from = span === 'month' ? `${period}-01` : `${period}-01-01`;
  const end = new Date(from);
  if (span === 'month') end.setUTCMonth(end.getUTCMonth() + 1);
  else end.setUTCFullYear(end.getUTCFullYear() + 1);
  return { period, from, until: getUtcDay(end) };
}

/** The names that each mandate will renew within 30 days. */
async function findUpcomingNames(
  deps: OrdersContext,
  mandates: readonly Mandate[],
): Promise<ReadonlyMap<string, readonly MandateName[]>> {
  const now = deps.now();
  const maxNoticeDays = Math.max(...mandates.map(({ terms }) => terms.notice));
  const until = new Date(now.getTime() + (SHOWN_DAYS + maxNoticeDays) * DAY_MS);
  const names = await deps.mandates.listDueNames(now, until, undefined, MAX_UPCOMING_NAMES);
  const affectedTagsByName = await deps.loadAffectedTags(names.map(({ name }) => name));
  return groupUpcomingNames(mandates, names, affectedTagsByName, now);
}

export function groupUpcomingNames(
  mandates: readonly Mandate[],
  names: readonly MandateName[],
  affectedTagsByName: ReadonlyMap<string, readonly string[]>,
  now: Date,
): ReadonlyMap<string, readonly MandateName[]> {
  const namesByMandate = new Map<string, MandateName[]>();
  for (const name of names) {
    const mandatesActingInTime = mandates.filter((mandate) => willActInTime(mandate, name, now));
    const mandate = findApplicableMandate(
      mandatesActingInTime,
      name.name,
      affectedTagsByName.get(name.name) ?? [],
      now,
    );
    const actionTime = name.expiresAt.getTime() - (mandate?.terms.notice ?? 0) * DAY_MS;
    if (mandate === undefined || actionTime > now.getTime() + SHOWN_DAYS * DAY_MS) continue;
    namesByMandate.set(mandate.id, [...(namesByMandate.get(mandate.id) ?? []), name]);
  }
  return namesByMandate;
}

/** Active mandates; none without a domain service, because nothing can be renewed. */
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
  const affectedTagsByName = await deps.loadAffectedTags(names.map(({ name }) => name));
  return new Map(
    names.flatMap(({ name, expiresAt }) => {
      const mandatesActingInTime = mandates
        .map(({ mandate }) => mandate)
        .filter((mandate) => expiresAt === undefined || willActInTime(mandate, { name, expiresAt }, now));
      const applicable = findApplicableMandate(
        mandatesActingInTime,
        name,
        affectedTagsByName.get(name) ?? [],
        now,
      );
      const activeMandate = mandates.find(({ mandate }) => mandate === applicable);
      return activeMandate === undefined ? [] : [[name, activeMandate] as const];
    }),
  );
}

/** The names that a mandate would cover today, with their prices. */
export interface MandatePreview {
  readonly names: readonly string[];
  /** The price of renewing all names for one year, at the prices of a year ago. */
  readonly costAYearAgo: OrderCost | undefined;
  /** The price of renewing all names for one year, at today's prices. */
  readonly costToday: OrderCost | undefined;
  /** Names that the mandate wouldn't renew now, each with the reason. */
  readonly heldNames: readonly { readonly name: string; readonly holdReason: HoldReason }[];
  /** Names for which an older mandate applies. */
  readonly namesCoveredByOthers: readonly string[];
}

export async function loadPreview(
  deps: OrdersContext,
  order: Order,
  terms: MandateTerms,
): Promise<MandatePreview> {
  const now = deps.now();
  const names = await deps.mandates.findMatchingNames(terms.mandate_names);
  const [watchedNames, costAYearAgo, costToday, mandateByName] = await Promise.all([
    deps.mandates.findMany(names),
    deps.priceRenewals(names, getUtcDay(new Date(now.getTime() - 365 * DAY_MS))),
    deps.priceRenewals(names, getUtcDay(now)),
    findCoveringMandates(
      deps,
      names.map((name) => ({ name })),
      'system',
    ),
  ]);
  const nothingUsed: UsedAmounts = { amountsByDay: [], countOrdersOn: () => 0 };
  const watchedByName = new Map(watchedNames.map((name) => [name.name, name]));
  return {
    names,
    costAYearAgo,
    costToday,
    heldNames: names.flatMap((name, index) => {
      const amount = costToday.names[index]?.quote?.amount;
      const holdReason =
        findExceededLimit(terms, amount, getUtcDay(now), nothingUsed) ??
        (watchedByName.get(name)?.isDateCertain ? undefined : 'date_in_doubt');
      return holdReason === undefined ? [] : [{ name, holdReason }];
    }),
    namesCoveredByOthers: names.filter(
      (name) => (mandateByName.get(name)?.mandate.id ?? order.id) !== order.id,
    ),
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
  const mandateActingInTime = (await findCoveringMandates(deps, [{ name, expiresAt }], 'system')).get(name);
  const activeMandate =
    mandateActingInTime ?? (await findCoveringMandates(deps, [{ name }], 'system')).get(name);
  if (activeMandate === undefined) return undefined;
  const isVisible = await canSee(deps, activeMandate.order, viewer);
  return {
    mandate: isVisible ? activeMandate : undefined,
    endsBeforeRenewal: mandateActingInTime === undefined,
  };
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

/** The consequences for names if no one acts. */
export interface RenewalForecast {
  /** When mandates will renew names, by name. */
  readonly renewalTimes: ReadonlyMap<string, Date>;
  /** Names that will be lost: without an owner, a mandate or a renewal order. */
  readonly uncoveredNames: readonly string[];
}

export async function loadRenewalForecast(
  deps: OrdersContext,
  watchedNames: readonly (ExpiringName & { readonly owner?: string | undefined })[],
  viewer: SystemViewer,
): Promise<RenewalForecast> {
  const plannedTimes = await planSendTimes(deps, await findCoveringMandates(deps, watchedNames, viewer));
  // Loaded after planning, which skips names with an open order, because a mandate may just have created one.
  const openOrderIdByName = await deps.store.findOpenOrders(
    'renew',
    watchedNames.map(({ name }) => name),
  );
  const sendTimes = new Map([
    ...plannedTimes,
    ...(await loadScheduledSendTimes(deps, openOrderIdByName, viewer)),
  ]);
  const renewalTimes = new Map<string, Date>();
  for (const { name, expiresAt } of await deps.mandates.findMany([...sendTimes.keys()])) {
    const sendAt = sendTimes.get(name);
    if (sendAt !== undefined && sendAt < expiresAt) renewalTimes.set(name, sendAt);
  }
  const uncovered = watchedNames.filter(
    ({ name, owner }) => owner === undefined && !renewalTimes.has(name) && !openOrderIdByName.has(name),
  );
  return { renewalTimes, uncoveredNames: uncovered.map(({ name }) => name) };
}

/** When mandates' existing orders will be sent, by name. */
async function loadScheduledSendTimes(
  { store, now }: OrdersContext,
  openOrderIdByName: ReadonlyMap<string, string>,
  viewer: SystemViewer,
): Promise<readonly (readonly [string, Date])[]> {
  const orders = await Promise.all(
    [...new Set(openOrderIdByName.values())].map((id) => store.load(id, viewer)),
  );
  return orders.flatMap((order) => {
    if (order?.mandate === undefined || !(order.state === 'APPROVED' || order.state === 'EXECUTING'))
      return [];
    const sendAt = new Date(Math.max((order.sendAfter ?? now()).getTime(), now().getTime()));
    return order.items.map(({ name }) => [name, sendAt] as const);
  });
}

/** When mandates will renew names that have no order yet, by name. */
async function planSendTimes(
  deps: OrdersContext,
  mandateByName: ReadonlyMap<string, ActiveMandate>,
): Promise<readonly (readonly [string, Date])[]> {
  const now = deps.now().getTime();
  const usedByMandate = new Map<string, UsedAmounts>();
  const sendTimes: [string, Date][] = [];
  for (const name of await deps.mandates.filterUnhandledNames([...mandateByName.keys()])) {
    const activeMandate = mandateByName.get(name.name);
    if (activeMandate === undefined) continue;
    const { mandate } = activeMandate;
    // Loaded before the name's open order, so that an order created in the meantime isn't counted twice.
    const usedAmounts = usedByMandate.get(mandate.id) ?? (await deps.mandates.loadUsedAmounts(mandate.id));
    const renewal = await loadRenewal(deps, activeMandate.order, name);
    if (renewal === undefined || renewal.hasOpenOrder) continue;
    const actionTime = Math.max(name.expiresAt.getTime() - mandate.terms.notice * DAY_MS, now);
    const plan = decideRenewal(mandate, renewal.facts, usedAmounts, new Date(actionTime));
    if (typeof plan === 'string') continue;
    if ((await loadReservation(deps, name.name, renewal, plan.day)) === undefined) continue;
    usedByMandate.set(mandate.id, addPlannedAmount(usedAmounts, plan));
    sendTimes.push([name.name, plan.sendAfter]);
  }
  return sendTimes;
}

export function addPlannedAmount(
  { amountsByDay, countOrdersOn }: UsedAmounts,
  { day, amount }: SendPlan,
): UsedAmounts {
  return {
    amountsByDay: [...amountsByDay, { day, minor: BigInt(amount.minor) }],
    countOrdersOn: (otherDay) => countOrdersOn(otherDay) + (otherDay === day ? 1 : 0),
  };
}
