import { DAY_MS } from '../../duration.ts';
import { type BudgetSpan, periodOf } from '../../money/budget.ts';
import type { OrderCost } from '../../money/prices.ts';
import type { Order } from '../order.ts';
import { dayOf, type HeldCode, overCeiling } from './acting.ts';
import type { MandateDeps } from './facts.ts';
import { mandatesOf } from './life.ts';
import { byAge, isInForce, type Mandate, mandateFor, mandateOf } from './mandate.ts';
import type { MandateAct, MandateName, MandateStore } from './ports.ts';
import type { MandateTerms } from './terms.ts';

/* How mandates stand: what is shown of them before they are decided, and while they are in force. */

/** A mandate in force, with what it did and what it will do. */
export interface MandateStanding {
  readonly order: Order;
  readonly mandate: Mandate;
  /** The month or year that its sum counts in at this moment. */
  readonly period: string;
  /** In minor units of its currency: spent, and reserved for what was not answered yet. */
  readonly booked: bigint;
  readonly reserved: bigint;
  /** Names for which it acts within 30 days, the soonest first. */
  readonly coming: readonly MandateName[];
  /** What it did in the last 30 days, the latest first. */
  readonly acts: readonly MandateAct[];
}

const SHOWN_DAYS = 30;
/** Names that are looked at for what is coming. */
const MAX_COMING = 1_000;

/** The mandates that are in force, the oldest first, with how they stand. */
export async function mandatesStanding(deps: MandateDeps): Promise<readonly MandateStanding[]> {
  const now = deps.now();
  const orders = await mandatesOf(deps.store);
  const given = orders.toReversed().flatMap((order) => {
    const mandate = mandateOf(order);
    return mandate !== undefined && isInForce(mandate, now) ? [{ order, mandate }] : [];
  });
  if (given.length === 0) return [];
  const coming = await comingNames(
    deps,
    given.map(({ mandate }) => mandate),
  );
  return Promise.all(
    given.map(async ({ order, mandate }): Promise<MandateStanding> => {
      const { from, until, period } = boundsOf(mandate.terms.span, dayOf(now));
      const [spent, acts] = await Promise.all([
        deps.mandates.spentBy(mandate.id, from, until),
        deps.mandates.actsBy(mandate.id, new Date(now.getTime() - SHOWN_DAYS * DAY_MS)),
      ]);
      return { order, mandate, period, ...spent, acts, coming: coming.get(mandate.id) ?? [] };
    }),
  );
}

/** The first day of a month or year, and the first one after it. */
function boundsOf(span: BudgetSpan, day: string) {
  const period = periodOf(span, day);
  const from = span === 'month' ? `${period}-01` : `${period}-01-01`;
  const next = new Date(from);
  if (span === 'month') next.setUTCMonth(next.getUTCMonth() + 1);
  else next.setUTCFullYear(next.getUTCFullYear() + 1);
  return { period, from, until: dayOf(next) };
}

/** The names for which each mandate acts within 30 days. */
async function comingNames(
  deps: MandateDeps,
  mandates: readonly Mandate[],
): Promise<ReadonlyMap<string, readonly MandateName[]>> {
  const now = deps.now();
  const notice = Math.max(...mandates.map(({ terms }) => terms.notice));
  const until = new Date(now.getTime() + (SHOWN_DAYS + notice) * DAY_MS);
  const names = await deps.mandates.due(now, until, undefined, MAX_COMING);
  const touched = await deps.tagsTouched(names.map(({ name }) => name));
  const found = new Map<string, MandateName[]>();
  for (const name of names) {
    const mandate = mandateFor(mandates, name.name, touched.get(name.name) ?? [], now);
    const actsAt = name.expiresAt.getTime() - (mandate?.terms.notice ?? 0) * DAY_MS;
    if (mandate === undefined || actsAt > now.getTime() + SHOWN_DAYS * DAY_MS) continue;
    found.set(mandate.id, [...(found.get(mandate.id) ?? []), name]);
  }
  return found;
}

/** The orders of the mandates in force that cover some names. */
async function mandatesCovering(
  deps: Pick<MandateDeps, 'store' | 'tagsTouched' | 'now'>,
  names: readonly string[],
): Promise<ReadonlyMap<string, Order>> {
  const now = deps.now();
  const orders = new Map((await mandatesOf(deps.store)).map((order) => [order.id, order]));
  const mandates = [...orders.values()].flatMap((order) => mandateOf(order) ?? []);
  if (mandates.length === 0) return new Map();
  const touched = await deps.tagsTouched(names);
  return new Map(
    names.flatMap((name) => {
      const mandate = mandateFor(mandates, name, touched.get(name) ?? [], now);
      const order = mandate && orders.get(mandate.id);
      return order === undefined ? [] : [[name, order] as const];
    }),
  );
}

/** What a mandate would cover by today's names and prices. */
export interface MandatePreview {
  readonly names: readonly string[];
  /** One year of all its names, by the prices of a year ago and of today. */
  readonly lastYear: OrderCost | undefined;
  readonly nextYear: OrderCost | undefined;
  /** Names for which it would not act as things are, each with why. */
  readonly held: readonly { readonly name: string; readonly because: HeldCode }[];
  /** Names for which an older mandate acts. */
  readonly others: readonly string[];
}

/** What a mandate that waits would cover, and what it would not act on. */
export async function previewOf(
  deps: MandateDeps,
  order: Pick<Order, 'id'>,
  terms: MandateTerms,
): Promise<MandatePreview> {
  const now = deps.now();
  const names = await deps.mandates.namesFitting(terms.mandate_names);
  const [watched, lastYear, nextYear, covering] = await Promise.all([
    deps.mandates.findMany(names),
    deps.costOn(names, dayOf(new Date(now.getTime() - 365 * DAY_MS))),
    deps.costOn(names, dayOf(now)),
    mandatesCovering(deps, names),
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
        overCeiling(terms, amount, dayOf(now), nothing) ??
        (known.get(name)?.isDateCertain === true ? undefined : 'date_in_doubt');
      return because === undefined ? [] : [{ name, because }];
    }),
    others: names.filter((name) => covering.has(name) && covering.get(name)?.id !== order.id),
  };
}

/** The mandates in force by the names of the watch list that they act for: of several that fit a name the oldest. */
export async function mandatesByName(
  deps: Pick<MandateDeps, 'store' | 'now'> & Pick<MandateStore, 'namesFitting'>,
): Promise<ReadonlyMap<string, Order>> {
  const now = deps.now();
  const given = (await mandatesOf(deps.store)).toReversed().flatMap((order) => {
    const mandate = mandateOf(order);
    return mandate !== undefined && isInForce(mandate, now) ? [{ order, mandate }] : [];
  });
  const covered = new Map<string, Order>();
  for (const { order, mandate } of given.toSorted((a, b) => byAge(a.mandate, b.mandate)))
    for (const name of await deps.namesFitting(mandate.terms.mandate_names))
      if (!covered.has(name)) covered.set(name, order);
  return covered;
}

/** A mandate in force, with its order. */
export type MandateInForce = Pick<MandateStanding, 'order' | 'mandate'>;

/** The mandate in force that acts for one name; undefined when none does. */
export async function mandateOfName(deps: MandateDeps, name: string): Promise<MandateInForce | undefined> {
  const order = (await mandatesCovering(deps, [name])).get(name);
  const mandate = order && mandateOf(order);
  return order === undefined || mandate === undefined ? undefined : { order, mandate };
}

/** Mandates in force that a person asked for or gave. */
export async function mandatesOfPerson(
  deps: Pick<MandateDeps, 'store' | 'now'>,
  userId: string,
): Promise<readonly MandateInForce[]> {
  const now = deps.now();
  return (await mandatesOf(deps.store)).flatMap((order) => {
    const mandate = mandateOf(order);
    const isTheirs = order.requesterId === userId || order.approvals.some((given) => given.userId === userId);
    return mandate !== undefined && isTheirs && isInForce(mandate, now) ? [{ order, mandate }] : [];
  });
}

/** Those of some names that are lost if nobody presses anything: without an owner, a mandate or an order that asks for them. */
export async function uncoveredAmong(
  deps: Pick<MandateDeps, 'store' | 'tagsTouched' | 'now'>,
  watched: readonly { readonly name: string; readonly owner?: string | undefined }[],
): Promise<readonly string[]> {
  const names = watched.flatMap(({ name, owner }) => (owner === undefined ? [name] : []));
  const [covering, open] = await Promise.all([
    mandatesCovering(deps, names),
    deps.store.openOrders('renew', names),
  ]);
  return names.filter((name) => !covering.has(name) && !open.has(name));
}
