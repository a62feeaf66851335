import { createLedgerKey, parseLedgerKey } from '../../src/ledger/key.ts';

/** The ledger's key of every process of a test. */
export const BOT_SIGNER = parseLedgerKey(createLedgerKey());
