import { createLedgerKey, readLedgerKey } from '../../src/ledger/key.ts';

/** The ledger's key of every process of a test. */
export const BOT_SIGNER = readLedgerKey(createLedgerKey());
