import { DAY_MS } from '../lib/duration.ts';
import { type BudgetSpan, periodOf } from '../money/budget.ts';
import type { OrderCost } from '../money/prices.ts';
import type { OrdersContext } from '../orders/context.ts';
import type { Order } from '../orders/order.ts';
import type { OrderLogEntry } from '../orders/order-events.ts';
import type { SystemViewer } from '../orders/ports.ts';
import { canSee, filterVisibleIds, type PersonViewer } from '../orders/visibility.ts';
import { utcDay } from '../zones/calendar-day.ts';
import { decideActing, exceededLimit, isInTime, type SendPlan, type UsedAmounts } from './acting.ts';
import type { HeldCode } from './codes.ts';
import { loadName, loadReservation } from './facts.ts';
import { loadActiveMandates } from './life.ts';
import { type ActiveMandate, findApplicableMandate, type Mandate } from './mandate.ts';
import type { MandateAct, MandateName } from './ports.ts';
import type { MandateTerms } from './terms.ts';

/** Overviews of mandates, before the decision and while active. */

/** An active mandate, with its past and upcoming renewals. */
export interface MandateStatus extends ActiveMandate {
  readonly history: readonly OrderLogEntry[];
  /** The current month or year of its total. */
  readonly period: string;
  /** In minor units of its currency: spent, plus reserved for unanswered orders. */
  readonly booked: bigint;
  readonly reserved: bigint;
  /** Names it will renew within 30 days, soonest first. */
  readonly coming: readonly MandateName[];
  /** Its acts in the last 30 days, latest first. */
  readonly acts: readonly MandateAct[];
}

const SHOWN_DAYS = 30;
/** Names read for the upcoming renewals. */
const MAX_COMING = 1_000;

/** The active mandates that a person may see, oldest first, and how many others there are. */
export async function mandateStatuses(
  deps: OrdersContext,
  viewer: PersonViewer,
): Promise<{ readonly shown: readonly MandateStatus[]; readonly hidden: number }> {
  const now = deps.now();
  const all = await loadActiveMandates(deps, 'system');
  const ids = all.map(({ order }) => order.id);
  const visible = await filterVisibleIds(deps, viewer, ids);
  const given = all.filter(({ order }) => visible.has(order.id));
  const hidden = all.length - given.length;
  if (given.length === 0) return { shown: [], hidden };
  const coming = await upcomingNames(
    deps,
    all.map(({ mandate }) => mandate),
  );
  const shown = await Promise.all(
    given.map(async ({ order, mandate }): Promise<MandateStatus> => {
      const { from, until, period } = periodBounds(mandate.terms.span, utcDay(now));
      const [spent, acts, history] = await Promise.all([
        deps.mandates.spentBy(mandate.id, from, until),
        deps.mandates.actsBy(mandate.id, new Date(now.getTime() - SHOWN_DAYS * DAY_MS)),
        deps.store.loadHistory(order.id, 'system'),
      ]);
      return { order, mandate, history, period, ...spent, acts, coming: coming.get(mandate.id) ?? [] };
    }),
  );
  return { shown, hidden };
}

/** The first day of a month or year, and the first day after it. */
function periodBounds(span: BudgetSpan, day: string) {
  const period = periodOf(span, day);
  const from = span === 'month' ? `${period}-01` : `${period}-01-01`;
  const next = new Date(from);
  if (span === 'month') next.setUTCMonth(next.getUTCMonth() + 1);
  else next.setUTCFullYear(next.getUTCFullYear() + 1);
  return { period, from, until: utcDay(next) };
}

/** The names that each mandate will renew within 30 days. */
async function upcomingNames(
  deps: OrdersContext,
  mandates: readonly Mandate[],
): Promise<ReadonlyMap<string, readonly MandateName[]>> {
  const now = deps.now();
  const notice = Math.max(...mandates.map(({ terms }) => terms.notice));
  const until = new Date(now.getTime() + (SHOWN_DAYS + notice) * DAY_MS);
  const names = await deps.mandates.due(now, until, undefined, MAX_COMING);
  const touched = await deps.loadAffectedTags(names.map(({ name }) => name));
  const found = new Map<string, MandateName[]>();
  for (const name of names) {
    const acting = mandates.filter((mandate) => isInTime(mandate, name, now));
    const mandate = findApplicableMandate(acting, name.name, touched.get(name.name) ?? [], now);
    const actsAt = name.expiresAt.getTime() - (mandate?.terms.notice ?? 0) * DAY_MS;
    if (mandate === undefined || actsAt > now.getTime() + SHOWN_DAYS * DAY_MS) continue;
    found.set(mandate.id, [...(found.get(mandate.id) ?? []), name]);
  }
  return found;
}

/** Without a domain service, no mandate renews. */
async function actingMandates(deps: OrdersContext, viewer: SystemViewer): Promise<readonly ActiveMandate[]> {
  return deps.serviceEndpoints.jsonUrl === undefined ? [] : loadActiveMandates(deps, viewer);
}

interface EndingName {
  readonly name: string;
  readonly expiresAt?: Date | undefined;
}

/** The active mandates that cover some names and don't end before they would renew them. */
async function findCoveringMandates(
  deps: OrdersContext,
  names: readonly EndingName[],
  viewer: SystemViewer,
): Promise<ReadonlyMap<string, ActiveMandate>> {
  const now = deps.now();
  const given = await actingMandates(deps, viewer);
  if (given.length === 0) return new Map();
  const touched = await deps.loadAffectedTags(names.map(({ name }) => name));
  return new Map(
    names.flatMap(({ name, expiresAt }) => {
      const acting = given
        .map(({ mandate }) => mandate)
        .filter((mandate) => expiresAt === undefined || isInTime(mandate, { name, expiresAt }, now));
      const chosen = findApplicableMandate(acting, name, touched.get(name) ?? [], now);
      const found = given.find(({ mandate }) => mandate === chosen);
      return found === undefined ? [] : [[name, found] as const];
    }),
  );
}

/** A mandate's coverage with today's names and prices. */
export interface MandatePreview {
  readonly names: readonly string[];
  /** One year of all its names, at the prices of a year ago and of today. */
  readonly lastYear: OrderCost | undefined;
  readonly nextYear: OrderCost | undefined;
  /** Names it wouldn't renew now, each with the reason. */
  readonly held: readonly { readonly name: string; readonly because: HeldCode }[];
  /** Names for which an older mandate applies. */
  readonly others: readonly string[];
}

/** A pending mandate's coverage, with the names it wouldn't renew. */
export async function loadPreview(
  deps: OrdersContext,
  order: Order,
  terms: MandateTerms,
): Promise<MandatePreview> {
  const now = deps.now();
  const names = await deps.mandates.findMatchingNames(terms.mandate_names);
  const [watched, lastYear, nextYear, covering] = await Promise.all([
    deps.mandates.findMany(names),
    deps.priceRenewals(names, utcDay(new Date(now.getTime() - 365 * DAY_MS))),
    deps.priceRenewals(names, utcDay(now)),
    findCoveringMandates(
      deps,
      names.map((name) => ({ name })),
      'system',
    ),
  ]);
  const known = new Map(watched.map((name) => [name.name, name]));
  const nothing = { byDay: [], countOn: () => 0 };
  return {
    names,
    lastYear,
    nextYear,
    held: names.flatMap((name, index) => {
      const amount = nextYear.names[index]?.quote?.amount;
      const because =
        exceededLimit(terms, amount, utcDay(now), nothing) ??
        (known.get(name)?.isDateCertain === true ? undefined : 'date_in_doubt');
      return because === undefined ? [] : [{ name, because }];
    }),
    others: names.filter((name) => covering.has(name) && covering.get(name)?.mandate.id !== order.id),
  };
}

/** Which of these expiries an active mandate will renew in time. */
export async function findMandatesInTime(
  deps: OrdersContext,
): Promise<(end: { readonly name: string; readonly expiresAt: Date }) => boolean> {
  const now = deps.now();
  const covering = await Promise.all(
    (await actingMandates(deps, 'system')).map(async ({ mandate }) => {
      const names = new Set(await deps.mandates.findMatchingNames(mandate.terms.mandate_names));
      return { mandate, names };
    }),
  );
  return (end) => covering.some(({ mandate, names }) => names.has(end.name) && isInTime(mandate, end, now));
}

export interface CoveringMandate {
  /** Undefined when the viewer may not see it. */
  readonly given: ActiveMandate | undefined;
  /** It ends before it would renew the name. */
  readonly isOverBefore: boolean;
}

/** The mandate that covers a name (if several, the one that applies); undefined when none does. */
export async function findMandate(
  deps: OrdersContext,
  name: string,
  viewer: PersonViewer,
): Promise<CoveringMandate | undefined> {
  const expiresAt = (await deps.mandates.find(name))?.expiresAt;
  const acting = (await findCoveringMandates(deps, [{ name, expiresAt }], 'system')).get(name);
  const covering = acting ?? (await findCoveringMandates(deps, [{ name }], 'system')).get(name);
  if (covering === undefined) return undefined;
  const isVisible = await canSee(deps, covering.order, viewer);
  return { given: isVisible ? covering : undefined, isOverBefore: acting === undefined };
}

/** Active mandates that a person requested or approved. */
export async function findMandatesByPerson(
  deps: OrdersContext,
  userId: string,
): Promise<readonly ActiveMandate[]> {
  return (await actingMandates(deps, 'system')).filter(
    ({ order }) =>
      order.requesterId === userId || order.approvals.some((approval) => approval.userId === userId),
  );
}

/** The future of names without further action. */
export interface Outlook {
  /** When mandates will renew names, if nothing changes. */
  readonly renewals: ReadonlyMap<string, Date>;
  /** Names that will be lost: no owner, no mandate and no order to renew them. */
  readonly uncovered: readonly string[];
}

export async function loadOutlook(
  deps: OrdersContext,
  watched: readonly (EndingName & { readonly owner?: string | undefined })[],
  viewer: SystemViewer,
): Promise<Outlook> {
  const names = watched.map(({ name }) => name);
  const [open, covering] = await Promise.all([
    deps.store.findOpenOrders('renew', names),
    findCoveringMandates(deps, watched, viewer),
  ]);
  const planned = new Map([
    ...(await pendingRenewals(deps, open, viewer)),
    ...(await renewalsAhead(deps, covering)),
  ]);
  const renewals = new Map<string, Date>();
  for (const { name, expiresAt } of await deps.mandates.findMany([...planned.keys()])) {
    const at = planned.get(name);
    if (at !== undefined && at < expiresAt) renewals.set(name, at);
  }
  const uncovered = watched.filter(
    ({ name, owner }) => owner === undefined && !renewals.has(name) && !open.has(name),
  );
  return { renewals, uncovered: uncovered.map(({ name }) => name) };
}

/** When mandates' existing orders are sent. @param open the open order of each name */
async function pendingRenewals(
  { store, now }: OrdersContext,
  open: ReadonlyMap<string, string>,
  viewer: SystemViewer,
): Promise<readonly (readonly [string, Date])[]> {
  const orders = await Promise.all([...new Set(open.values())].map((id) => store.load(id, viewer)));
  return orders.flatMap((order) => {
    if (order?.mandated === undefined || !(order.state === 'APPROVED' || order.state === 'EXECUTING'))
      return [];
    const at = new Date(Math.max((order.sendAfter ?? now()).getTime(), now().getTime()));
    return order.items.map(({ name }) => [name, at] as const);
  });
}

/** When mandates will renew other names, by the same rules. */
async function renewalsAhead(
  deps: OrdersContext,
  covering: ReadonlyMap<string, ActiveMandate>,
): Promise<readonly (readonly [string, Date])[]> {
  const now = deps.now().getTime();
  const taken = new Map<string, UsedAmounts>();
  const found: [string, Date][] = [];
  for (const name of await deps.mandates.aheadAmong([...covering.keys()])) {
    const given = covering.get(name.name);
    const known = given && (await loadName(deps, given.order, name));
    if (given === undefined || known === undefined || known.needsOrder) continue;
    const { mandate } = given;
    const before = taken.get(mandate.id) ?? (await deps.mandates.usedBy(mandate.id));
    const actsAt = Math.max(name.expiresAt.getTime() - mandate.terms.notice * DAY_MS, now);
    const plan = decideActing(mandate, known.facts, before, new Date(actsAt));
    if (typeof plan === 'string') continue;
    if ((await loadReservation(deps, name.name, known, plan.day)) === undefined) continue;
    taken.set(mandate.id, addPlan(before, plan));
    found.push([name.name, plan.sendAfter]);
  }
  return found;
}

/** Usage of the limits after one more order. */
function addPlan({ byDay, countOn }: UsedAmounts, { day, amount }: SendPlan): UsedAmounts {
  return {
    byDay: [...byDay, { day, minor: BigInt(amount.minor) }],
    countOn: (on) => countOn(on) + (on === day ? 1 : 0),
  };
}
