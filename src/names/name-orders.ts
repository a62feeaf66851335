import { z } from 'zod';
import { inputOfItem, type Order, type OrderItem, type OrderTaskName } from '../orders/order.ts';
import { IMPACT_TASKS, type ImpactTask } from './impact.ts';
import type { Incident } from './incident.ts';
import type { Lapse } from './ports.ts';
import { idOfIncident, NAME_TASKS, type NameOrder } from './unexplained-changes.ts';

/* Orders and people's decisions, in the form in which they can explain changes of a name. */

const moveInput = z.object({ nameServers: z.array(z.string()) });

/** The kind of impact that a task can have; undefined for a task that puts nothing at risk. */
export function impactTaskOf(task: OrderTaskName): ImpactTask | undefined {
  return IMPACT_TASKS.find((each) => each === task);
}

export type AskedTask = Pick<Order, 'task' | 'input'>;

/** The nameservers that an order asks for, in ASCII and lower case. */
export function askedNameServers({ task, input }: AskedTask): readonly string[] | undefined {
  if (task !== 'nameservers' && task !== 'create' && task !== 'transfer') return undefined;
  return moveInput.safeParse(input).data?.nameServers;
}

/** What was done about a name: orders whose request left, and the decision to let it go. */
export function ordersOfName(name: string, orders: readonly Order[], lapse: Lapse | undefined): NameOrder[] {
  const sent = orders.flatMap((order): NameOrder[] => {
    const task = NAME_TASKS.find((each) => each === order.task);
    const item = order.items.find((each) => each.name === name);
    if (task === undefined || item?.sentAt === undefined) return [];
    const nameServers = askedNameServers({ task: order.task, input: inputOfItem(order, item) });
    return [
      {
        id: order.id,
        task,
        state: stateOf(item),
        sentAt: item.sentAt,
        ...(nameServers === undefined ? {} : { nameServers }),
      },
    ];
  });
  const decided = lapse?.confirmed;
  return decided === undefined
    ? sent
    : [...sent, { id: 'lapse', task: 'lapse', state: 'succeeded', sentAt: decided.at }];
}

/**
 * Transfers without an order of which somebody has said that the team made them. What their incidents have shown of them
 * is over: another transfer after it is not the one that was meant.
 */
export function expectedTransfers(incidents: readonly Incident[]): NameOrder[] {
  return incidents
    .filter(({ state }) => state === 'ours')
    .flatMap(({ id, changes }) =>
      changes
        .filter(({ kind }) => kind === 'pending_transfer')
        .map(({ lastSeenBefore }) => ({
          id: idOfIncident(id),
          task: 'transfer',
          state: 'succeeded',
          sentAt: lastSeenBefore,
          made: changes,
        })),
    );
}

function stateOf({ state, result }: OrderItem): NameOrder['state'] {
  switch (state) {
    case 'SUCCEEDED':
      return 'succeeded';
    case 'FAILED':
      // An order that was settled, or answered differently later, may have been carried out.
      return result?.late === undefined || result.late === 'FAILED' ? 'refused' : 'unknown';
    case 'UNKNOWN':
      return 'unknown';
    default:
      return 'sent';
  }
}
