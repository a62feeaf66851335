import { z } from 'zod';
import { buildEventSchema } from '../../ledger/event.ts';
import { CHARTER_PROBLEMS } from './difference.ts';
import { charterSignedShape, keyAddedShape, keyRevokedShape, keyVouchedShape } from './key-ring.ts';

export const keyEvents = [
  buildEventSchema('key', ['key_added'], keyAddedShape),
  buildEventSchema('key', ['key_vouched'], keyVouchedShape),
  buildEventSchema('key', ['key_revoked'], keyRevokedShape),
  buildEventSchema('policy', ['charter_signed'], charterSignedShape),
  /** Logged when a charter becomes valid or invalid. */
  buildEventSchema('policy', ['charter_status'], { status: z.enum(['valid', ...CHARTER_PROBLEMS]) }),
] as const;
