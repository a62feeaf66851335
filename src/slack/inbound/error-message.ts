import { z } from 'zod';
import { UnknownKeyError, VaultError } from '../../accounts/vault.ts';
import { createErrorReference, type Log } from '../../lib/log.ts';
import { escapeText, type Message } from '../kit/blocks.ts';
import { formatSlackError } from '../outbound/slack-error.view.ts';
import { SlackApiError } from '../outbound/web.ts';
import {
  addReference,
  checkOrdersFirst,
  DATABASE_FULL,
  KEY_MISSING,
  NO_DATABASE,
  SEAL_BROKEN,
  SOMETHING_WRONG,
} from './error-message.view.ts';

const databaseError = z.object({
  name: z.string().regex(/^(PrismaClient|StoreError)/),
  code: z.string().optional().catch(undefined),
});

function formatCause(error: unknown): string {
  if (error instanceof SlackApiError) {
    const { cause, remedy } = formatSlackError(error);
    return escapeText(`${cause} ${remedy}`);
  }
  const database = databaseError.safeParse(error).data;
  if (database === undefined) return SOMETHING_WRONG;
  return DATABASE_FULL[database.code ?? ''] ?? NO_DATABASE;
}

export function errorMessage(log: Log, error: unknown, activity: string): Message {
  const reference = createErrorReference();
  log.error({ err: error, reference, activity }, 'reported an error to a person');
  if (error instanceof UnknownKeyError) return addReference(KEY_MISSING, reference);
  if (error instanceof VaultError) return addReference(SEAL_BROKEN, reference);
  return addReference(checkOrdersFirst(formatCause(error)), reference);
}
