import { createWatchedDomain } from '../../../src/expiry/newly-watched.ts';
import type { WatchedDomain } from '../../../src/expiry/ports.ts';
import { buildWatchListChange } from '../../../src/expiry/update-watch-list.ts';
import {
  type UnreliableDateReason,
  updateDatesAfterLookup,
  updateDatesAfterTransfer,
} from '../../../src/names/dates.ts';
import { ABSENT, createFact, createUnknownFact, type Observation } from '../../../src/names/facts.ts';
import { findNewValues, mergeObservation, type NameHistory } from '../../../src/names/history.ts';
import { type Incident, updateIncidents } from '../../../src/names/incident.ts';
import { findProofOrHint } from '../../../src/names/order-evidence.ts';
import type { RegistrySighting } from '../../../src/names/ports.ts';
import {
  isRetryableProblem,
  parseRegistryAnswer,
  type RegistryLookup,
} from '../../../src/names/registry-record.ts';
import { explainChanges, type KnownChange, type NameOrder } from '../../../src/names/unexplained-changes.ts';
import type { Order, OrderItem } from '../../../src/orders/order.ts';
import type { Evidence } from '../../../src/orders/ports.ts';
import { newOrder } from '../../orders/sample.ts';
import type { Sequence, Step } from './sequence.ts';

/*
 * Runs the product's functions on a sequence. The results have their own format, so that they stay comparable
 * when the product's types change.
 */

/** The state after a step. */
export interface NameState {
  readonly date: string | undefined;
  readonly source: string | undefined;
  /** A renewal that the registry doesn't show yet. */
  readonly renewedUntil: string | undefined;
  readonly deletedAt: string | undefined;
  readonly doubt: string | undefined;
  /** The changes that this step added to an incident, and the incident's state. */
  readonly incident: readonly string[];
}

export interface ReplayResult {
  readonly steps: readonly NameState[];
  /** Evidence of the outcome of the order whose response was lost. */
  readonly evidence: string;
}

export async function replay({ name, steps }: Sequence): Promise<ReplayResult> {
  let watched: WatchedDomain = createWatchedDomain(name, 'U0ALICE', steps[0]?.at ?? new Date(0));
  let history: NameHistory = {};
  let knownChanges: readonly KnownChange[] = [];
  let incident: Incident | undefined;
  const orders: NameOrder[] = [];
  const states: NameState[] = [];
  let lostOrder: { readonly order: Order; readonly item: OrderItem } | undefined;
  const sightings: RegistrySighting[] = [];
  let lastLookup: RegistryLookup | undefined;

  const observe = (observation: Observation, at: Date) => {
    const merged = mergeObservation(history, observation);
    ({ history } = merged);
    const { unexplainedChanges, ...after } = explainChanges({
      changes: merged.changes,
      history,
      orders,
      knownChanges,
    });
    ({ knownChanges } = after);
    const update = updateIncidents(incident === undefined ? [] : [incident], {
      name,
      unexplainedChanges,
      history,
      at,
    });
    if (update === undefined) return [];
    incident = update.after;
    const added = update.addedChanges.map(
      ({ kind, fact, before, after }) => `${kind} by ${fact}: ${before.join(' ')} -> ${after.join(' ')}`,
    );
    return [...added, `${update.before === undefined ? 'opened' : 'joined'}: ${incident.state}`];
  };
  const runStep = (step: Step): string[] => {
    const { at } = step;
    switch (step.kind) {
      case 'registry':
        // A name without a record isn't in the parent zone either.
        lastLookup = parseRegistryAnswer(step.answer, name, at, ABSENT);
        watched = { ...watched, ...updateDatesAfterLookup(watched, lastLookup) };
        sightings.unshift({ at, seen: findNewValues(history, lastLookup) });
        return observe(lastLookup, at);
      case 'dns': {
        const servers =
          step.nameServers === undefined ? createUnknownFact('timeout') : createFact(step.nameServers);
        const ds = step.isSigned ? createFact(['1 13 2 ab']) : createFact([]);
        return observe({ name, at, facts: { nameservers: servers, parent_nameservers: servers, ds } }, at);
      }
      case 'order': {
        const order = buildOrder(name, step, states.length);
        const [item] = order.items;
        if (item === undefined) throw new Error('missing item');
        orders.push(buildNameOrder(order.id, step));
        if (step.isLost) lostOrder = { order, item };
        else watched = buildWatchListChange(order, item, watched, at)?.updatedDomain ?? watched;
        return [];
      }
      case 'date':
        if (watched.expiry === undefined || watched.expiry.source === 'person')
          watched = { ...watched, expiry: { at: step.expiresAt, source: 'person' } };
        return [];
      case 'transfer_confirmed':
        watched = { ...watched, ...updateDatesAfterTransfer(watched, at) };
        return [];
    }
  };
  for (const step of steps) {
    const incidentChanges = runStep(step);
    states.push(getState(watched, incidentChanges));
  }

  if (lostOrder === undefined || lastLookup === undefined) return { steps: states, evidence: 'none' };
  const { order, item } = lostOrder;
  const sentAt = item.sentAt ?? lastLookup.at;
  const evidence = findProofOrHint(
    { order, sentAt, history, sightings, orders, now: lastLookup.at },
    lastLookup,
  );
  return { steps: states, evidence: formatEvidence(evidence) };
}

function getState(
  { expiry, unpublishedRenewal, deletedAt, doubt }: WatchedDomain,
  incident: readonly string[],
): NameState {
  return {
    date: expiry?.at.toISOString(),
    source: expiry?.source,
    renewedUntil: unpublishedRenewal?.until.toISOString(),
    deletedAt: deletedAt?.toISOString(),
    doubt: doubt && getDoubtCode(doubt),
    incident,
  };
}

function getDoubtCode(doubt: UnreliableDateReason): string {
  if (doubt.code === 'distrusted') return doubt.distrust.code;
  if (doubt.code !== 'undated') return doubt.code;
  return isRetryableProblem(doubt.problem) ? 'unavailable' : 'unreadable';
}

function buildOrder(name: string, step: Extract<Step, { kind: 'order' }>, n: number): Order {
  const { at, task, years, nameServers, isLost } = step;
  const order = newOrder([name], { id: `order-${n}`, task, input: { period: years, nameServers } });
  const outcome = isLost
    ? ({ state: 'UNKNOWN' } as const)
    : ({ state: 'SUCCEEDED', answeredAt: at } as const);
  return { ...order, items: order.items.map((item) => ({ ...item, ...outcome, sentAt: at })) };
}

function buildNameOrder(id: string, step: Extract<Step, { kind: 'order' }>): NameOrder {
  const { task, at, nameServers, isLost } = step;
  const delegation =
    task === 'nameservers' || task === 'create' || task === 'transfer' ? { nameServers } : {};
  return { id, task, state: isLost ? 'unknown' : 'succeeded', sentAt: at, ...delegation };
}

function formatEvidence(evidence: Evidence): string {
  if (evidence.kind === 'nothing') return 'nothing';
  return `${evidence.kind}: ${JSON.stringify(evidence.seen)}`;
}
