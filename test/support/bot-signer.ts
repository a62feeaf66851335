import { createLedgerKey, parseLedgerKey } from '../../src/ledger/key.ts';

/** The ledger key that all bots in a test share. */
export const BOT_SIGNER = parseLedgerKey(createLedgerKey());
