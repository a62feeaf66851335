import type { Order } from '../orders/order.ts';
import type { PreviousNameServers } from '../orders/undo.ts';
import { type FactValue, isSameSet, NAMESERVER_FACTS } from './facts.ts';
import { listValues, type NameHistory } from './history.ts';
import { getRequestedNameServers } from './name-orders.ts';

/** @returns undefined if they were never seen */
export function getCurrentNameServers(history: NameHistory): FactValue | undefined {
  return NAMESERVER_FACTS.map((fact) => history[fact]?.current?.value).find(isNotEmpty);
}

function findNameServersAt(history: NameHistory, at: Date): FactValue | undefined {
  return NAMESERVER_FACTS.map(
    (fact) => listValues(history, fact).find(({ firstSeen }) => firstSeen <= at)?.value,
  ).find(isNotEmpty);
}

/** @param atRequest the nameservers at the time of the request; undefined if unknown */
export function findFormerNameServers(
  order: Order,
  history: NameHistory | undefined,
  atRequest: FactValue | undefined,
): PreviousNameServers {
  const sentAt = order.items[0]?.sentAt ?? order.createdAt;
  const before = (history && findNameServersAt(history, sentAt)) ?? atRequest;
  if (!isNotEmpty(before)) return { kind: 'unknown' };
  const isSame = isSameSet(getRequestedNameServers(order) ?? [], before);
  return isSame ? { kind: 'same' } : { kind: 'known', nameServers: before };
}

function isNotEmpty(value: FactValue | undefined): value is FactValue {
  return value !== undefined && value.length > 0;
}
