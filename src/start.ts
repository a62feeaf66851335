import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedPostgres } from '@domain-steward/embedded-postgres';
import { z } from 'zod';
import type { Config } from './config.ts';
import type { Log } from './log.ts';
import type { SlackMode } from './slack/inbound/receiver.ts';
import { isTokenError, retryAfterOf, SlackApiError, type SlackWeb } from './slack/outbound/web.ts';
import { StoreError } from './store/database.ts';
import { MigrationError, migrate } from './store/migrate.ts';

/* The parts that a start waits for, and what the operator is told when one does not come. */

/** The bot cannot start. The message is for the operator. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** How long the database or Slack may be away at start before the process gives up. */
const MAX_START_WAIT_MS = 120_000;

/**
 * The database from the settings, or the embedded one, which is started.
 * @param closers gets a function that stops the embedded database
 * @returns its address
 */
export async function findDatabase(
  config: Config,
  log: Log,
  closers: (() => Promise<void>)[],
): Promise<string> {
  if (config.databaseUrl !== undefined) return config.databaseUrl.reveal();
  const postgres = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    log: (sentence) => log.info(sentence),
  });
  closers.push(() => postgres.stop());
  return postgres.url;
}

/** Brings the database to this release’s schema. */
export async function migrateDatabase(url: string, log: Log): Promise<void> {
  const { applied } = await migrate({ url, log: (sentence) => log.info(sentence) });
  if (applied.length > 0) log.info({ applied }, 'brought the database to this release’s schema');
}

const identity = z.object({
  team_id: z.string(),
  user_id: z.string().default(''),
  enterprise_id: z.string().optional(),
});

/** The bot, its workspace, and the Enterprise Grid organisation that this belongs to, if any. */
export interface Identity {
  readonly teamId: string;
  readonly userId: string;
  readonly orgId: string | undefined;
}

/** Asks Slack who the bot is, and in which workspace. */
export async function identify(web: SlackWeb): Promise<Identity> {
  const answer = await web.call('auth.test', {}, identity);
  return { teamId: answer.team_id, userId: answer.user_id, orgId: answer.enterprise_id };
}

/** How Slack delivers. */
export function slackMode(config: Config): SlackMode {
  const { appToken, signingSecret } = config.slack;
  if (appToken !== undefined) return { kind: 'socket', appToken };
  if (signingSecret !== undefined) return { kind: 'http', signingSecret };
  throw new StartError('Set SLACK_SIGNING_SECRET, or SLACK_APP_TOKEN for Socket Mode.');
}

/**
 * Repeats an attempt while the database or Slack is away. A refusal ends it at once. When Slack asks to wait, it is not
 * away, so that time does not count towards the limit.
 */
export async function retryAtStart<T>(
  what: string,
  log: Log,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  let deadline = Date.now() + MAX_START_WAIT_MS;
  for (let wait = 250; ; wait = Math.min(wait * 2, 5_000)) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof SlackApiError && isTokenError(error)) {
        throw new StartError(
          `Slack refuses SLACK_BOT_TOKEN (${error.code}). Install the app again and set its bot token.`,
          { cause: error },
        );
      }
      const away =
        error instanceof SlackApiError ||
        error instanceof StoreError ||
        (error instanceof MigrationError && error.problem === 'unreachable');
      if (!away) throw error;
      if (Date.now() > deadline)
        throw new StartError(
          `Starting: ${what} did not answer for ${MAX_START_WAIT_MS / 1_000} seconds. The log says what was tried; start again when it answers.`,
          { cause: error },
        );
      const asked = retryAfterOf(error);
      deadline += asked ?? 0;
      const waitMs = asked ?? wait;
      log.warn({ err: error, waitMs }, `waiting for ${what}`);
      await sleep(waitMs, undefined, { signal });
    }
  }
}
