import { z } from 'zod';
import { event } from '../../ledger/event.ts';
import { CHARTER_PROBLEMS } from './difference.ts';
import { charterSigned, keyAdded, keyRevoked, keyVouched } from './key-ring.ts';

export const keyEvents = [
  event('key', ['key_added'], keyAdded),
  event('key', ['key_vouched'], keyVouched),
  event('key', ['key_revoked'], keyRevoked),
  event('policy', ['charter_signed'], charterSigned),
  /** Logged when a charter becomes valid or invalid. */
  event('policy', ['charter_status'], { status: z.enum(['valid', ...CHARTER_PROBLEMS]) }),
] as const;
