import type { Order } from '../orders/order.ts';
import type { IncidentRecords } from '../orders/ports.ts';
import { findTask } from '../orders/tasks.ts';
import { subjectOf } from '../policy/subject.ts';
import type { NamesContext } from './context.ts';
import type { ListedIncident } from './incident.ts';

export interface OrderIncidents extends IncidentRecords {
  openOf(order: Order): Promise<readonly ListedIncident[]>;
}

/**
 * Approvers of a name with an open incident must acknowledge it: the first click shows it, a later one is accepted. New
 * changes are shown again.
 */
export function createOrderIncidents({ incidents, now }: NamesContext): OrderIncidents {
  const openOf = ({ items, task }: Order) => {
    const { nameKind } = findTask(task);
    return incidents.openOf([...new Set(items.flatMap(({ name }) => subjectOf(name, nameKind).hosts))]);
  };

  /** Since when each person knows all of them. */
  async function informed(
    orderId: string,
    open: readonly ListedIncident[],
  ): Promise<ReadonlyMap<string, Date>> {
    const warnings = await incidents.warningsOf(orderId);
    const people = new Set(warnings.map(({ userId }) => userId));
    return new Map(
      [...people].flatMap((person) => {
        const moments = open.map(({ id, changes }) =>
          warnings
            .find(
              (warned) =>
                warned.userId === person && warned.incidentId === id && warned.changes >= changes.length,
            )
            ?.at.getTime(),
        );
        const known = moments.filter((moment) => moment !== undefined);
        return known.length < open.length ? [] : [[person, new Date(Math.max(...known))] as const];
      }),
    );
  }

  return {
    openOf,

    async loadKnown(order) {
      const open = await openOf(order);
      if (open.length === 0) return undefined;
      const shown = open.map(({ id, changes }) => ({ id, changes: changes.length }));
      return { shown, informedSince: await informed(order.id, open) };
    },

    recordShown: (orderId, userId, shown) => incidents.warn(orderId, userId, shown, now()),
  };
}
