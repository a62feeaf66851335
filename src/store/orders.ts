import type { BotSigner } from '../approvals/charter.ts';
import { createWitnessCheck } from '../orders/log-limits.ts';
import type { OrderStore } from '../orders/ports.ts';
import type { Database } from './database.ts';
import { createOrderChanges } from './order-changes.ts';
import { createOrderReads } from './order-reads.ts';
import { createOrderSecrets } from './order-secrets.ts';
import { createOrderWork } from './order-work.ts';

/**
 * @param witness of events that allow a retry; without it, nothing is retried
 * @throws {StoreError} from every method if the database fails
 */
export function createOrderStore(database: Database, witness: BotSigner | undefined): OrderStore {
  return {
    ...createOrderReads(database),
    ...createOrderChanges({ database, witness }),
    ...createOrderWork(database),
    ...createOrderSecrets(database),
    isWitnessed: createWitnessCheck(witness),
  };
}
