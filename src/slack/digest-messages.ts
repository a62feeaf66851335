import type { TeamSettings } from '../config.ts';
import type { DigestPoster } from '../expiry/ports.ts';
import type { PriceStore } from '../money/ports.ts';
import { alertAdmins } from './admins.ts';
import type { SlackDirectory } from './directory.ts';
import { SlackApiError, type SlackWeb } from './platform/web.ts';
import { postMessage } from './post-message.ts';
import { code, escapeText, textMessage } from './views/blocks.ts';
import { digestHead, digestMore, type WaitingOf } from './views/digest.ts';
import { reminderProblem } from './views/slack-error.ts';
import { waitingWith } from './waiting.ts';

/** What posting digests needs. */
export interface DigestPosterDeps {
  readonly web: SlackWeb;
  readonly directory: SlackDirectory;
  /** What waiting costs for each name at this moment. */
  readonly waitingCosts?: () => Promise<WaitingOf>;
  /** Who is told when reminders cannot be posted. */
  readonly admins: readonly string[];
}

const RETRY_MS = 60_000;

/** Slack takes messages to people who have left, which nobody reads. */
class NotMemberError extends Error {
  override readonly name = 'NotMemberError';
}

/** Posts digests of expiring names in Slack. */
export function createDigestPoster({ web, directory, admins, waitingCosts }: DigestPosterDeps): DigestPoster {
  return {
    async postHead(to, head) {
      const isPerson = /^[UW]/.test(to);
      if (isPerson && (await directory.membership(to)) === 'left') throw new NotMemberError(to);
      const channelId = isPerson ? await directory.directMessage(to) : to;
      return postMessage(web, { channelId }, digestHead(head, await waitingCosts?.()));
    },

    async postMore({ channelId, ts }, part) {
      await postMessage(web, { channelId, threadTs: ts }, digestMore(part, await waitingCosts?.()));
    },

    explain(error) {
      if (error instanceof NotMemberError)
        return { broken: 'the person is no member of this workspace any more.' };
      if (!(error instanceof SlackApiError)) throw error;
      return error.kind === 'refused'
        ? { broken: reminderProblem(error) }
        : { retryAfterMs: error.retryAfterMs ?? RETRY_MS };
    },

    async alertAdmins(channelId, why) {
      const message = textMessage(
        `Reminders of names that expire cannot be posted in <#${channelId}> ${code(channelId)}: ${escapeText(why)} Another channel is chosen with \`/domain settings\`.`,
      );
      await alertAdmins({ web, directory, admins }, message);
    },
  };
}

/** Computes what waiting costs, by the current price list and clock; nothing while the list is empty. */
export function createWaitingCosts(deps: {
  readonly settings: () => Promise<Pick<TeamSettings, 'reminderTimezone'>>;
  readonly prices: Pick<PriceStore, 'list'>;
  readonly now: () => Date;
}): () => Promise<WaitingOf> {
  return async () => {
    const [{ reminderTimezone }, list] = await Promise.all([deps.settings(), deps.prices.list()]);
    const now = deps.now();
    return ({ watched }) => waitingWith(list, watched, { now, timeZone: reminderTimezone });
  };
}
