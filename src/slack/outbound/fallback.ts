import type { KnownBlock } from '@slack/types';
import {
  type AnyBlock,
  blocksToText,
  hasNewBlocks,
  LIMITS,
  lines,
  type Message,
  replaceNewBlocks,
  truncateMarkup,
} from '../kit/blocks.ts';
import { mayBeBlockError, SlackApiError } from './web.ts';

/** The text of blocks, with their buttons, because a card without buttons would be useless. */
function toTextWithButtons(blocks: readonly AnyBlock[]): AnyBlock[] {
  const isButtons = ({ type }: AnyBlock) => type === 'actions';
  return [...lines(blocksToText(blocks.filter((block) => !isButtons(block)))), ...blocks.filter(isButtons)];
}

/** Replaces the blocks that Slack refused with text; undefined if Slack didn't say which. */
function replaceRefusedBlocks(blocks: readonly AnyBlock[], refusal: unknown): AnyBlock[] | undefined {
  const refused = new Set(refusal instanceof SlackApiError ? refusal.refusedBlocks : []);
  if (refused.size === 0) return undefined;
  return blocks.flatMap((block, index) => (refused.has(index) ? lines(blocksToText([block])) : [block]));
}

/** Returns a plainer version of refused content; undefined if it would be the same. */
type Fallback<Content> = (refusal: unknown) => Content | undefined;

/** Fallbacks that keep the buttons. The first one changes only the refused blocks. */
function createBlockFallbacks(blocks: readonly AnyBlock[]): readonly Fallback<readonly AnyBlock[]>[] {
  return [
    (refusal) => replaceRefusedBlocks(blocks, refusal),
    () => (hasNewBlocks(blocks) ? replaceNewBlocks(blocks) : undefined),
    () => (blocks.some(({ type }) => type === 'actions') ? toTextWithButtons(blocks) : undefined),
  ];
}

/**
 * Sends a message. If Slack refuses its blocks, tries these in order: refused blocks as text, no newer blocks, text
 * with buttons, text only.
 * @throws {SlackApiError} the first refusal, if Slack refuses all of them
 */
export function sendWithFallback<T>(message: Message, send: (message: Message) => Promise<T>): Promise<T> {
  const { text, blocks, textOnlyHint } = message;
  return tryVersions(message, send, [
    ...createBlockFallbacks(blocks).map(
      (fallback): Fallback<Message> =>
        (refusal) => {
          const plainerBlocks = fallback(refusal);
          return plainerBlocks && { text, blocks: plainerBlocks };
        },
    ),
    () =>
      blocks.length > 0
        ? { text: appendHint(blocksToText(blocks).join('\n') || text, textOnlyHint), blocks: [] }
        : undefined,
  ]);
}

/** Within the limit for updates, which is far below the one for new messages. */
function appendHint(text: string, hint: string | undefined): string {
  if (hint === undefined) return truncateMarkup(text, LIMITS.messageText);
  return `${truncateMarkup(text, LIMITS.messageText - hint.length - 1)}\n${hint}`;
}

/** For a view that has only blocks. */
export function sendViewWithFallback<T>(
  blocks: readonly KnownBlock[],
  send: (blocks: readonly AnyBlock[]) => Promise<T>,
): Promise<T> {
  return tryVersions<readonly AnyBlock[], T>(blocks, send, [
    ...createBlockFallbacks(blocks),
    () => lines(blocksToText(blocks)),
  ]);
}

async function tryVersions<Content, T>(
  original: Content,
  send: (content: Content) => Promise<T>,
  fallbacks: readonly Fallback<Content>[],
): Promise<T> {
  let firstRefusal: unknown;
  for (const version of [() => original, ...fallbacks]) {
    const content = version(firstRefusal);
    if (content === undefined) continue;
    try {
      return await send(content);
    } catch (error) {
      if (!mayBeBlockError(error)) throw error;
      firstRefusal ??= error;
    }
  }
  throw firstRefusal;
}
