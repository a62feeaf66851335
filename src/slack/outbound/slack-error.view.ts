import { formatCount } from '../kit/blocks.ts';
import type { SlackApiError } from './web.ts';

/** Slack's codes for unknown people or groups. */
const UNKNOWN_ID_CODES: ReadonlySet<string> = new Set([
  'no_such_subteam',
  'subteam_not_found',
  'user_not_found',
  'user_not_visible',
  'users_not_found',
]);

/** Says what went wrong and what to do. Plain text, because it is also shown in form fields. */
export function formatSlackError(
  error: Pick<SlackApiError, 'kind' | 'code' | 'hasInvalidToken'> &
    Partial<Pick<SlackApiError, 'needed' | 'retryAfterMs'>>,
): { readonly cause: string; readonly remedy: string } {
  const { kind, code = '', needed, retryAfterMs } = error;
  if (kind === 'rate_limited') {
    const seconds = Math.ceil((retryAfterMs ?? 30_000) / 1_000);
    return { cause: 'Slack is rate-limiting me.', remedy: `Try again in ${formatCount(seconds, 'second')}.` };
  }
  if (kind === 'unreachable') {
    return { cause: 'Slack didn’t respond as expected.', remedy: 'Try again in a minute.' };
  }
  if (code === 'missing_scope') {
    return {
      cause: `My app lacks a required permission${needed === undefined ? '' : `, the scope ${needed}`}.`,
      remedy: 'Ask your operator to reinstall the app with its manifest, then try again.',
    };
  }
  if (error.hasInvalidToken) {
    return { cause: `Slack no longer accepts my token (${code}).`, remedy: 'Tell your operator.' };
  }
  return { cause: `Slack refused this (${code}).`, remedy: 'If it keeps failing, tell your operator.' };
}

/** Says why a listed approver can't be looked up. Plain text. */
export function formatApproverError(id: string, error: SlackApiError): string {
  if (UNKNOWN_ID_CODES.has(error.code ?? '')) return `Slack doesn’t know ${id}. Copy the ID again.`;
  const { cause, remedy } = formatSlackError(error);
  return `I can’t look up ${id}. ${cause} ${remedy}`;
}

/** The texts have no period at the end. */
function describeRefusal(code: string): { readonly cause: string; readonly remedy: string } | undefined {
  if (code === 'not_in_channel') {
    return { cause: 'I’m not in this channel', remedy: 'Invite me with /invite @Domain Steward' };
  }
  if (code === 'channel_not_found') {
    return {
      cause: 'no channel has this ID',
      remedy: 'Copy the ID again. If the channel is private, invite me with /invite @Domain Steward',
    };
  }
  if (code === 'is_archived') return { cause: 'the channel is archived', remedy: 'Choose another channel' };
  return code.startsWith('restricted_action')
    ? {
        cause: 'only some people can post there',
        remedy: 'Ask a workspace admin to allow me, or choose another channel',
      }
    : undefined;
}

/** Says why the bot can't post reminders and what to do. */
export function formatReminderChannelError(code: string): string {
  const refusal = describeRefusal(code);
  if (refusal !== undefined && code === 'is_archived')
    return `${refusal.cause}. ${refusal.remedy} with \`/domain settings\`.`;
  const { cause, remedy } =
    refusal === undefined
      ? formatSlackError({ kind: 'refused', code, hasInvalidToken: false })
      : { cause: `${refusal.cause}.`, remedy: `${refusal.remedy}.` };
  return `${cause} ${remedy} To choose another channel, use \`/domain settings\`.`;
}

/** Says why the bot can't post in the chosen channel. Plain text. */
export function formatChannelError(error: SlackApiError): string {
  const code = error.code ?? '';
  const refusal = describeRefusal(code);
  if (refusal !== undefined) {
    const saveAgainText = code === 'not_in_channel' ? ', then save again' : '';
    return `I can’t post there: ${refusal.cause}. ${refusal.remedy}${saveAgainText}.`;
  }
  const { cause, remedy } = formatSlackError(error);
  return error.kind === 'unreachable'
    ? `I couldn’t check whether I can post there. ${cause} ${remedy}`
    : `I can’t post there. ${cause} ${remedy}`;
}

/** Text of a message that is scheduled and deleted to check whether the bot may post. */
export const TRIAL_TEXT = 'Domain Steward checked whether it can post here. You can delete this message.';
