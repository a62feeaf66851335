import type { Order } from '../orders/order.ts';
import type { PreviousNameServers } from '../orders/undo.ts';
import { type FactValue, isSameSet, NAMESERVER_FACTS } from './facts.ts';
import { type NameHistory, valuesOf } from './history.ts';
import { requestedNameServers } from './name-orders.ts';

/** Undefined when never seen. */
export function currentNameServers(history: NameHistory): FactValue | undefined {
  return NAMESERVER_FACTS.map((fact) => history[fact]?.current?.value).find(isFilled);
}

function nameServersAt(history: NameHistory, at: Date): FactValue | undefined {
  return NAMESERVER_FACTS.map(
    (fact) => valuesOf(history, fact).find(({ firstSeen }) => firstSeen <= at)?.value,
  ).find(isFilled);
}

/** @param atRequest when requested; undefined when unknown */
export function formerNameServers(
  order: Order,
  history: NameHistory | undefined,
  atRequest: FactValue | undefined,
): PreviousNameServers {
  const sentAt = order.items[0]?.sentAt ?? order.createdAt;
  const before = (history && nameServersAt(history, sentAt)) ?? atRequest;
  if (!isFilled(before)) return { kind: 'unknown' };
  const isSame = isSameSet(requestedNameServers(order) ?? [], before);
  return isSame ? { kind: 'same' } : { kind: 'known', nameServers: before };
}

function isFilled(value: FactValue | undefined): value is FactValue {
  return value !== undefined && value.length > 0;
}
