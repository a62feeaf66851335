import { z } from 'zod';
import { UnknownKeyError, VaultError } from '../../accounts/vault.ts';
import { createErrorReference, type Log } from '../../lib/log.ts';
import { escapeText, type Message } from '../kit/blocks.ts';
import { formatSlackError } from '../outbound/slack-error.view.ts';
import { SlackApiError } from '../outbound/web.ts';
import {
  addOrderCheckHint,
  addReference,
  DATABASE_NOT_RESPONDING,
  DATABASE_WRITE_ERRORS,
  KEY_MISSING,
  SOMETHING_WENT_WRONG,
  UNDECRYPTABLE,
} from './error-message.view.ts';

const databaseErrorSchema = z.object({
  name: z.string().regex(/^(PrismaClient|StoreError)/),
  code: z.string().optional().catch(undefined),
});

function formatCause(error: unknown): string {
  if (error instanceof SlackApiError) {
    const { cause, remedy } = formatSlackError(error);
    return escapeText(`${cause} ${remedy}`);
  }
  const databaseError = databaseErrorSchema.safeParse(error).data;
  if (databaseError === undefined) return SOMETHING_WENT_WRONG;
  return DATABASE_WRITE_ERRORS[databaseError.code ?? ''] ?? DATABASE_NOT_RESPONDING;
}

export function reportError(log: Log, error: unknown, activity: string): Message {
  const reference = createErrorReference();
  log.error({ err: error, reference, activity }, 'reported an error to a person');
  if (error instanceof UnknownKeyError) return addReference(KEY_MISSING, reference);
  if (error instanceof VaultError) return addReference(UNDECRYPTABLE, reference);
  return addReference(addOrderCheckHint(formatCause(error)), reference);
}
