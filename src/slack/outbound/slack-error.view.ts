import { count } from '../kit/blocks.ts';
import type { SlackApiError } from './web.ts';

/** Codes with which Slack says that it does not know a person or a group. */
const UNKNOWN_ID: ReadonlySet<string> = new Set([
  'no_such_subteam',
  'subteam_not_found',
  'user_not_found',
  'user_not_visible',
  'users_not_found',
]);

/**
 * What Slack answered to a call, and what to do about it. Plain text, because it is shown at fields as
 * well.
 */
export function formatSlackError(
  problem: Pick<SlackApiError, 'kind' | 'code' | 'isOfInvalidToken'> &
    Partial<Pick<SlackApiError, 'needed' | 'retryAfterMs'>>,
): { readonly said: string; readonly todo: string } {
  const { kind, code = '', needed, retryAfterMs } = problem;
  if (kind === 'rate_limited') {
    const seconds = Math.ceil((retryAfterMs ?? 30_000) / 1_000);
    return {
      said: 'Slack limits how often I may ask it.',
      todo: `Try again in ${count(seconds, 'second')}.`,
    };
  }
  if (kind === 'unreachable') {
    return { said: 'Slack did not answer me as it should.', todo: 'Try again in a minute.' };
  }
  if (code === 'missing_scope') {
    return {
      said: `My app lacks a right that this needs${needed === undefined ? '' : `, the scope ${needed}`}.`,
      todo: 'Whoever runs me installs the app again with its manifest; then try again.',
    };
  }
  if (problem.isOfInvalidToken) {
    return { said: `Slack no longer takes my token (${code}).`, todo: 'Tell whoever runs me.' };
  }
  return { said: `Slack refuses this (${code}).`, todo: 'If it stays so, tell whoever runs me.' };
}

/** Why a person or a group that was named as an approver cannot be looked up; plain text. */
export function approverError(id: string, problem: SlackApiError): string {
  if (UNKNOWN_ID.has(problem.code ?? '')) return `Slack knows no ${id}. Copy the id again.`;
  const { said, todo } = formatSlackError(problem);
  return `I cannot look ${id} up. ${said} ${todo}`;
}

/**
 * Codes of a channel in which the bot cannot post: the reason, to follow "cannot be posted:", and what to
 * do.
 */
function channelRefusal(code: string): { readonly why: string; readonly todo: string } | undefined {
  if (code === 'not_in_channel') {
    return { why: 'I am not in this channel', todo: 'Invite me with /invite @Domain Steward' };
  }
  if (code === 'channel_not_found') {
    return {
      why: 'I see no channel of this id',
      todo: 'Copy the id again; if the channel is private, invite me with /invite @Domain Steward',
    };
  }
  if (code === 'is_archived') return { why: 'the channel is archived', todo: 'Choose another one' };
  return code.startsWith('restricted_action')
    ? {
        why: 'only some people may',
        todo: 'Have an admin of the workspace let me, or choose another channel',
      }
    : undefined;
}

/** Why reminders cannot be posted in their channel, by Slack's code, and what to do about that; plain text. */
export function reminderProblem(code: string): string {
  const refusal = channelRefusal(code);
  if (refusal !== undefined) return `${refusal.why}. ${refusal.todo}.`;
  const { said, todo } = formatSlackError({ kind: 'refused', code, isOfInvalidToken: false });
  return `${said} ${todo}`;
}

/** Why the bot cannot post in a chosen channel; plain text. */
export function channelError(problem: SlackApiError): string {
  const code = problem.code ?? '';
  const refusal = channelRefusal(code);
  if (refusal !== undefined) {
    const again = code === 'not_in_channel' ? ', then save again' : '';
    return `I cannot post there: ${refusal.why}. ${refusal.todo}${again}.`;
  }
  const { said, todo } = formatSlackError(problem);
  return problem.kind === 'unreachable'
    ? `I do not know whether I can post there. ${said} ${todo}`
    : `I cannot post there. ${said} ${todo}`;
}

/** A message that is scheduled and deleted again, to see whether the bot may post. */
export const TRIAL_TEXT = 'Domain Steward checked whether it can post here. You can delete this message.';
