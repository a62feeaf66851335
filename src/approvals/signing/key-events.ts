import { z } from 'zod';
import { defineEvent } from '../../ledger/event.ts';
import { CHARTER_PROBLEMS } from './difference.ts';
import { charterSigned, keyAdded, keyRevoked, keyVouched } from './key-ring.ts';

export const keyEvents = [
  defineEvent('key', ['key_added'], keyAdded),
  defineEvent('key', ['key_vouched'], keyVouched),
  defineEvent('key', ['key_revoked'], keyRevoked),
  defineEvent('policy', ['charter_signed'], charterSigned),
  /** Logged when a charter becomes valid or invalid. */
  defineEvent('policy', ['charter_status'], { status: z.enum(['valid', ...CHARTER_PROBLEMS]) }),
] as const;
