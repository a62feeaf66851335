import type { Order } from '../orders/order.ts';
import type { IncidentRecords } from '../orders/ports.ts';
import { findTask } from '../orders/tasks.ts';
import { toAffectedName } from '../policy/subject.ts';
import type { NamesContext } from './context.ts';
import type { ListedIncident } from './incident.ts';

export interface OrderIncidents extends IncidentRecords {
  listOpen(order: Order): Promise<readonly ListedIncident[]>;
}

/**
 * Approvers of a name with an open incident must acknowledge it: the first click shows the incident, a later click is
 * accepted. New changes must be acknowledged again.
 */
export function createOrderIncidents({ incidents, now }: NamesContext): OrderIncidents {
  const listOpen = ({ items, task }: Order) => {
    const { nameKind } = findTask(task);
    return incidents.listOpen([
      ...new Set(items.flatMap(({ name }) => toAffectedName(name, nameKind).hosts)),
    ]);
  };

  /** The people who know all open incidents, and since when. */
  async function findInformedPeople(
    orderId: string,
    open: readonly ListedIncident[],
  ): Promise<ReadonlyMap<string, Date>> {
    const warnings = await incidents.listWarnings(orderId);
    const people = new Set(warnings.map(({ userId }) => userId));
    return new Map(
      [...people].flatMap((person) => {
        const times = open.map(({ id, changes }) =>
          warnings
            .find(
              (warning) =>
                warning.userId === person &&
                warning.incidentId === id &&
                warning.changeCount >= changes.length,
            )
            ?.at.getTime(),
        );
        const known = times.filter((time) => time !== undefined);
        return known.length < open.length ? [] : [[person, new Date(Math.max(...known))] as const];
      }),
    );
  }

  return {
    listOpen,

    async loadOpenIncidents(order) {
      const open = await listOpen(order);
      if (open.length === 0) return undefined;
      const shown = open.map(({ id, changes }) => ({ id, changeCount: changes.length }));
      return { incidents: shown, informedSince: await findInformedPeople(order.id, open) };
    },

    recordShown: (orderId, userId, shown) => incidents.recordWarnings(orderId, userId, shown, now()),
  };
}
