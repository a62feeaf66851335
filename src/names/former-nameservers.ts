import type { Order } from '../orders/order.ts';
import type { PreviousNameServers } from '../orders/undo.ts';
import { type FactValue, isSameSet, NAMESERVER_FACTS } from './facts.ts';
import { listValues, type NameHistory } from './history.ts';
import { getRequestedNameServers } from './name-orders.ts';

/** @returns undefined if no lookup has found nameservers */
export function getCurrentNameServers(history: NameHistory): FactValue | undefined {
  return NAMESERVER_FACTS.map((fact) => history[fact]?.current?.value).find(isNotEmpty);
}

function findNameServersAt(history: NameHistory, at: Date): FactValue | undefined {
  return NAMESERVER_FACTS.map(
    (fact) => listValues(history, fact).find(({ firstSeen }) => firstSeen <= at)?.value,
  ).find(isNotEmpty);
}

export function findPreviousNameServers(
  order: Order,
  history: NameHistory | undefined,
  serversAtRequest: FactValue | undefined,
): PreviousNameServers {
  const sentAt = order.items[0]?.sentAt ?? order.createdAt;
  const nameServers = (history && findNameServersAt(history, sentAt)) ?? serversAtRequest;
  if (!isNotEmpty(nameServers)) return { kind: 'unknown' };
  const isSame = isSameSet(getRequestedNameServers(order) ?? [], nameServers);
  return isSame ? { kind: 'same' } : { kind: 'known', nameServers };
}

function isNotEmpty(value: FactValue | undefined): value is FactValue {
  return value !== undefined && value.length > 0;
}
