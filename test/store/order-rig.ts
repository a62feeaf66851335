import pg from 'pg';
import { expect } from 'vitest';
import type { SealedSecret } from '../../src/accounts/vault.ts';
import type { Order, OrderEvent } from '../../src/orders/order.ts';
import type { OrderCommit } from '../../src/orders/ports.ts';
import { transition } from '../../src/orders/state-machine.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { createNotificationStore } from '../../src/store/notifications.ts';
import { createOrderStore } from '../../src/store/orders.ts';
import { SUFFICIENT_APPROVAL, newOrder as sampleOrder } from '../orders/sample.ts';
import { BOT_SIGNER } from '../support/bot-signer.ts';
import { createTestDatabase } from '../support/database.ts';
import { newOrderEvent } from '../support/log.ts';

/** When each test starts. The store has no clock of its own. */
export const START_TIME = new Date('2026-03-08T06:59:59.123Z');

export function secondsLater(seconds: number): Date {
  return new Date(START_TIME.getTime() + seconds * 1_000);
}

export const SEALED_SECRET: SealedSecret = { keyId: 'k1', bytes: Uint8Array.from([0, 1, 2, 254, 255]) };

let count = 0;

/** Creates an order for the names, or for one unique name. */
export function newOrder(changes: Partial<Order> = {}, names?: readonly string[]): Order {
  count += 1;
  const id = changes.id ?? `order-${count}`;
  return sampleOrder(names ?? [`name-${count}.rest`], {
    id,
    account: { id: 'account-1', login: 'alice', method: 'password', context: 4 },
    expiresAt: secondsLater(3_600),
    remindAt: secondsLater(600),
    deliveryId: `delivery-${id}`,
    createdAt: START_TIME,
    ...changes,
  });
}

/** Selects when an order's work and its notifications are due. */
export const DUE_TIMES_QUERY = `
  SELECT o.due_at AS work, n.due_at AS notifications FROM orders o
  JOIN notifications n ON n.subject_kind = 'order' AND n.subject_id = o.id AND n.purpose = 'plan' WHERE o.id = $1`;

/** Starts the order store on a separate database. */
export async function startRig() {
  const testDatabase = await createTestDatabase();
  const admin = new pg.Client({ connectionString: testDatabase.url });
  await admin.connect();
  // Nothing may depend on the server's time zone. It is far from UTC; summer time begins after the start.
  await admin.query(`
    ALTER DATABASE ${admin.escapeIdentifier(admin.database ?? '')} SET timezone = 'America/New_York'`);
  const database: Database = openDatabase({ url: testDatabase.url });
  const store = createOrderStore(database, BOT_SIGNER);
  const notifications = createNotificationStore(database, '');

  return {
    store,
    notifications,
    database,
    url: testDatabase.url,
    /** Runs SQL directly. */
    async sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
      return (await admin.query(text, values)).rows;
    },
    /**
     * Starts work while another transaction locks a row. Ends that transaction when all the work is waiting.
     * @param lockSql the SQL statement that locks the row
     */
    async runWhileLocked<T>(
      lockSql: string,
      values: unknown[],
      startWork: () => Promise<T>[],
      transactionEnd: 'ROLLBACK' | 'COMMIT' = 'ROLLBACK',
    ): Promise<T[]> {
      await admin.query('BEGIN');
      try {
        await admin.query(lockSql, values);
        const startedWork = startWork();
        const results = Promise.all(startedWork);
        results.catch(() => undefined); // Awaiting it below reports the error.
        await expect
          .poll(
            async () => {
              await admin.query('SELECT pg_stat_clear_snapshot()'); // otherwise a transaction sees only one snapshot
              const { rows } = await admin.query(
                "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
              );
              return rows.length;
            },
            { interval: 10, timeout: 10_000, message: 'not all of the work waits for the row' },
          )
          .toBe(startedWork.length);
        await admin.query(transactionEnd);
        return await results;
      } catch (error) {
        await admin.query('ROLLBACK');
        throw error;
      }
    },
    async findDueTimes(id: string): Promise<Readonly<Record<'work' | 'notifications', unknown>>> {
      const { rows } = await admin.query(DUE_TIMES_QUERY, [id]);
      return { work: rows[0]?.work ?? undefined, notifications: rows[0]?.notifications ?? undefined };
    },
    /** Moves the ends of all leases back by these seconds. */
    async ageLeases(seconds: number): Promise<void> {
      for (const table of ['orders', 'notifications', 'webhook_deliveries'])
        await admin.query(`UPDATE ${table} SET lease_until = lease_until - $1 * interval '1 s'`, [seconds]);
    },
    /** Stores an order and returns it as read back. */
    async save(order: Order): Promise<Order> {
      const conflict = await store.create({
        order,
        log: [
          {
            ...newOrderEvent('requested', order.state),
            actor: order.requesterId,
            version: 1,
            at: START_TIME,
          },
        ],
        sealedInput: order.secretHash !== undefined ? SEALED_SECRET : undefined,
      });
      expect(conflict, 'unexpected conflict').toBeUndefined();
      return this.read(order.id);
    },
    async read(id: string): Promise<Order> {
      const order = await store.load(id, 'system');
      if (order === undefined) throw new Error(`order ${id} is not in the store`);
      return order;
    },
    /** Applies an event to the current order, and returns the order as read back. */
    async apply(id: string, event: OrderEvent, at: Date, extra: Partial<OrderCommit> = {}): Promise<Order> {
      expect(await store.commit({ ...createCommit(await this.read(id), event, at), ...extra })).toEqual({
        ok: true,
      });
      return this.read(id);
    },
    async close() {
      await database.close();
      await admin.end();
      await testDatabase.drop();
    },
  };
}

export type Rig = Awaited<ReturnType<typeof startRig>>;

/** The order after an event, ready to commit. */
export function createCommit(before: Order, event: OrderEvent, at: Date): OrderCommit {
  const result = transition(before, event, at);
  if (!result.ok) throw new Error(`${event.type} does not apply to the order: ${result.refusal.code}`);
  const guard = event.type === 'sending' ? 'no_signatures' : undefined;
  return { before, after: result.order, log: result.log, guard };
}

/** Saves an order that is approved, claimed by `worker`, and whose first items were sent. */
export async function startExecution(rig: Rig, order: Order, sentCount = 1): Promise<Order> {
  await rig.save(order);
  await rig.apply(
    order.id,
    { type: 'approved', by: 'U0BOB', ...SUFFICIENT_APPROVAL, validApprovers: ['U0BOB'] },
    secondsLater(1),
  );
  let current = await rig.apply(order.id, { type: 'claimed', workerId: 'worker' }, secondsLater(2), {
    leaseMs: 20_000,
  });
  for (let n = 1; n <= sentCount; n += 1) {
    current = await rig.apply(order.id, { type: 'sending', workerId: 'worker', n }, secondsLater(3));
  }
  return current;
}

export async function collectRows<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const row of rows) all.push(row);
  return all;
}
