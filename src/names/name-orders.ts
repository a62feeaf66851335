import { z } from 'zod';
import { getItemInput, type Order, type OrderItem, type OrderTaskName } from '../orders/order.ts';
import { IMPACT_TASKS, type ImpactTask } from './impact.ts';
import type { Incident } from './incident.ts';
import type { Lapse } from './ports.ts';
import { buildIncidentOrderId, NAME_TASKS, type NameOrder } from './unexplained-changes.ts';

/** Orders and decisions that may explain changes. */

const nameServersInputSchema = z.object({ nameServers: z.array(z.string()) });

export function toImpactTask(task: OrderTaskName): ImpactTask | undefined {
  return IMPACT_TASKS.find((impactTask) => impactTask === task);
}

export type RequestedTask = Pick<Order, 'task' | 'input'>;

/** @returns host names in lowercase ASCII */
export function getRequestedNameServers({ task, input }: RequestedTask): readonly string[] | undefined {
  if (task !== 'nameservers' && task !== 'create' && task !== 'transfer') return undefined;
  return nameServersInputSchema.safeParse(input).data?.nameServers;
}

/** Lists sent orders for a name, and the decision to let it lapse. */
export function listNameOrders(
  name: string,
  orders: readonly Order[],
  lapse: Lapse | undefined,
): NameOrder[] {
  const sentOrders = orders.flatMap((order): NameOrder[] => {
    const task = NAME_TASKS.find((nameTask) => nameTask === order.task);
    const item = order.items.find((candidate) => candidate.name === name);
    if (task === undefined || item?.sentAt === undefined) return [];
    const nameServers = getRequestedNameServers({ task: order.task, input: getItemInput(order, item) });
    return [
      {
        id: order.id,
        task,
        state: toNameOrderState(item),
        sentAt: item.sentAt,
        ...(nameServers === undefined ? {} : { nameServers }),
      },
    ];
  });
  const confirmation = lapse?.confirmed;
  return confirmation === undefined
    ? sentOrders
    : [...sentOrders, { id: 'lapse', task: 'lapse', state: 'succeeded', sentAt: confirmation.at }];
}

/** Lists transfers without an order that the team confirmed as its own. They explain no later transfers. */
export function listConfirmedTransfers(incidents: readonly Incident[]): NameOrder[] {
  return incidents
    .filter(({ state }) => state === 'ours')
    .flatMap(({ id, changes }) =>
      changes
        .filter(({ kind }) => kind === 'pending_transfer')
        .map(({ beforeLastSeenAt }) => ({
          id: buildIncidentOrderId(id),
          task: 'transfer',
          state: 'succeeded',
          sentAt: beforeLastSeenAt,
          explainedChanges: changes,
        })),
    );
}

function toNameOrderState({ state, result }: OrderItem): NameOrder['state'] {
  switch (state) {
    case 'SUCCEEDED':
      return 'succeeded';
    case 'FAILED':
      // An order that a person settled, or that got a different answer later, may have been carried out.
      return result?.lateOutcome === undefined || result.lateOutcome === 'FAILED' ? 'refused' : 'unknown';
    case 'UNKNOWN':
      return 'unknown';
    default:
      return 'sent';
  }
}
