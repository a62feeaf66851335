import { z } from 'zod';
import { UnknownKeyError, VaultError } from '../../accounts/vault.ts';
import { type Log, newReference } from '../../log.ts';
import { code, escapeText, type Message, textMessage } from '../kit/blocks.ts';
import { formatSlackError } from '../outbound/slack-error.view.ts';
import { SlackApiError } from '../outbound/web.ts';

const databaseError = z.object({
  name: z.string().regex(/^(PrismaClient|StoreError)/),
  code: z.string().optional().catch(undefined),
});

/** SQLSTATEs (PostgreSQL, appendix A) of a database that answers but cannot write. */
const KEEPS_NOTHING: Readonly<Record<string, string>> = {
  53100: 'My database has no room left, so it keeps nothing new. Tell whoever runs me.',
  25006: 'My database takes no changes right now. Try again in a minute.',
};

/** What went wrong, and what to do about it. */
function formatCause(error: unknown): string {
  if (error instanceof SlackApiError) {
    const { said, todo } = formatSlackError(error);
    return escapeText(`${said} ${todo}`);
  }
  const database = databaseError.safeParse(error).data;
  if (database === undefined) {
    return 'Something went wrong on my side. Try again in a minute; if it stays so, tell whoever runs me.';
  }
  return (
    KEEPS_NOTHING[database.code ?? ''] ?? 'My database does not answer right now. Try again in a minute.'
  );
}

/** A sentence for a person about an unexpected error, with a reference that the log has too. */
export function errorMessage(log: Log, error: unknown, activity: string): Message {
  const reference = newReference();
  log.error({ err: error, reference, activity }, 'a person was told that something went wrong');
  if (error instanceof UnknownKeyError) {
    return textMessage(
      `I cannot open what I keep encrypted for this here, because one of my keys is missing. Nothing is lost, and nothing was sent. Try again in a few minutes. Whoever runs me finds in my log which key it is. Reference ${code(reference)}.`,
    );
  }
  if (error instanceof VaultError) {
    return textMessage(
      `What I keep encrypted for this cannot be opened any more: its key is gone, or it was changed. Link your account again with \`/domain link\`, then ask again. Reference ${code(reference)}.`,
    );
  }
  return textMessage(
    // Most actions only read, but an order may have been kept before the error.
    `${formatCause(error)} If you asked for an order, look at \`/domain orders mine\` first, so that it is not asked for twice. Reference ${code(reference)}.`,
  );
}
