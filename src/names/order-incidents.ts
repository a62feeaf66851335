import type { Order } from '../orders/order.ts';
import type { IncidentsOfOrders } from '../orders/ports.ts';
import { taskNamed } from '../orders/tasks.ts';
import { subjectOf } from '../policy/subject.ts';
import type { NamesContext } from './context.ts';
import type { ListedIncident } from './incident.ts';

/** The open incidents of the names that an order touches. */
export interface OrderIncidents extends IncidentsOfOrders {
  openOf(order: Order): Promise<readonly ListedIncident[]>;
}

/**
 * Who approves an order about a name of which an incident is open has to say that they know of it: their first press shows
 * it, and one that they make after they were told counts. What joins the incident is shown again.
 */
export function createOrderIncidents({ incidents, now }: NamesContext): OrderIncidents {
  const openOf = ({ items, task }: Order) => {
    const { nameKind } = taskNamed(task);
    return incidents.openOf([...new Set(items.flatMap(({ name }) => subjectOf(name, nameKind).hosts))]);
  };

  /** From when on each person knows of all of them; who is not there does not. */
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

    async known(order) {
      const open = await openOf(order);
      if (open.length === 0) return undefined;
      const shown = open.map(({ id, changes }) => ({ id, changes: changes.length }));
      return { shown, informedSince: await informed(order.id, open) };
    },

    told: (orderId, userId, shown) => incidents.warn(orderId, userId, shown, now()),
  };
}
