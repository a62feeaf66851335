import type { BotSigner } from '../approvals/charter.ts';
import { createBotSignatureCheck } from '../orders/log-limits.ts';
import type { OrderStore } from '../orders/ports.ts';
import type { Database } from './database.ts';
import { createOrderWriter } from './order-changes.ts';
import { createOrderReader } from './order-reads.ts';
import { createOrderSecretStore } from './order-secrets.ts';
import { createOrderQueue } from './order-work.ts';

/** @param botSigner signs the events that allow a retry; without it, nothing is retried */
export function createOrderStore(database: Database, botSigner: BotSigner | undefined): OrderStore {
  return {
    ...createOrderReader(database),
    ...createOrderWriter({ database, botSigner }),
    ...createOrderQueue(database),
    ...createOrderSecretStore(database),
    isSignedByBot: createBotSignatureCheck(botSigner),
  };
}
