import type { Order } from '../orders/order.ts';
import type { IncidentRecords } from '../orders/ports.ts';
import { getOrderTask } from '../orders/tasks.ts';
import { toAffectedName } from '../policy/subject.ts';
import type { NamesContext } from './context.ts';
import type { ListedIncident } from './incident.ts';

export interface OrderIncidents extends IncidentRecords {
  listOpen(order: Order): Promise<readonly ListedIncident[]>;
}

/**
 * Approvers must acknowledge a name's open incidents. Their first click shows the incidents, and a later
 * click is accepted. Changes that are added to an incident must be acknowledged again.
 */
export function createOrderIncidents({ incidents, now }: NamesContext): OrderIncidents {
  const listOpen = ({ items, task }: Order) => {
    const { nameKind } = getOrderTask(task);
    return incidents.listOpen([
      ...new Set(items.flatMap(({ name }) => toAffectedName(name, nameKind).hosts)),
    ]);
  };

  /** Returns the people who were shown all open incidents, with the time of the last one. */
  async function findInformedPeople(
    orderId: string,
    openIncidents: readonly ListedIncident[],
  ): Promise<ReadonlyMap<string, Date>> {
    const warnings = await incidents.listWarnings(orderId);
    const userIds = new Set(warnings.map(({ userId }) => userId));
    return new Map(
      [...userIds].flatMap((userId) => {
        const warningTimes = openIncidents.map(({ id, changes }) =>
          warnings
            .find(
              (warning) =>
                warning.userId === userId &&
                warning.incidentId === id &&
                warning.changeCount >= changes.length,
            )
            ?.at.getTime(),
        );
        const knownTimes = warningTimes.filter((time) => time !== undefined);
        return knownTimes.length < warningTimes.length
          ? []
          : [[userId, new Date(Math.max(...knownTimes))] as const];
      }),
    );
  }

  return {
    listOpen,

    async loadOpenIncidents(order) {
      const openIncidents = await listOpen(order);
      if (openIncidents.length === 0) return undefined;
      return {
        incidents: openIncidents.map(({ id, changes }) => ({ id, changeCount: changes.length })),
        informedSince: await findInformedPeople(order.id, openIncidents),
      };
    },

    recordShown: (orderId, userId, shown) => incidents.recordWarnings(orderId, userId, shown, now()),
  };
}
