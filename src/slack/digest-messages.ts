import type { DigestPoster } from '../expiry/ports.ts';
import { alertAdmins } from './admins.ts';
import type { SlackDirectory } from './directory.ts';
import { withPlainFallback } from './fallback.ts';
import { postedResponse, SlackApiError, type SlackWeb } from './platform/web.ts';
import { code, escapeText, type Message, textMessage } from './views/blocks.ts';
import { digestHead, digestMore } from './views/digest.ts';
import { reminderProblem } from './views/slack-error.ts';

/** What posting digests works with. */
export interface DigestPosterDeps {
  readonly web: SlackWeb;
  readonly directory: SlackDirectory;
  /** Who hears that reminders cannot be posted. */
  readonly admins: readonly string[];
}

const RETRY_MS = 60_000;

/** Posts digests of what expires in Slack. */
export function createDigestPoster({ web, directory, admins }: DigestPosterDeps): DigestPoster {
  async function post(channelId: string, threadTs: string | undefined, message: Message) {
    const { channel, ts } = await withPlainFallback(message, ({ text, blocks }) =>
      web.call(
        'chat.postMessage',
        {
          channel: channelId,
          ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
          text,
          blocks,
          unfurl_links: false,
          unfurl_media: false,
        },
        postedResponse,
      ),
    );
    return { channelId: channel, ts };
  }

  return {
    postHead: (channelId, head) => post(channelId, undefined, digestHead(head)),

    async postMore({ channelId, ts }, part) {
      await post(channelId, ts, digestMore(part));
    },

    explain(error) {
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
