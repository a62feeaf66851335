import type { KnownBlock } from '@slack/types';
import {
  type AnyBlock,
  blocksToLines,
  hasTablesOrCharts,
  LIMITS,
  lineSections,
  type Message,
  replaceTablesAndCharts,
  truncateMarkup,
} from '../kit/blocks.ts';
import { mayBeBlockError, SlackApiError } from './web.ts';

/** Keeps the buttons, because a card without buttons would be useless. */
function toTextWithButtons(blocks: readonly AnyBlock[]): AnyBlock[] {
  const isButtonRow = ({ type }: AnyBlock) => type === 'actions';
  return [
    ...lineSections(blocksToLines(blocks.filter((block) => !isButtonRow(block)))),
    ...blocks.filter(isButtonRow),
  ];
}

/** @returns undefined if Slack didn't say which blocks it refuses */
function replaceRefusedBlocks(blocks: readonly AnyBlock[], refusal: unknown): AnyBlock[] | undefined {
  const refusedIndexes = new Set(refusal instanceof SlackApiError ? refusal.refusedBlockIndexes : []);
  if (refusedIndexes.size === 0) return undefined;
  return blocks.flatMap((block, index) =>
    refusedIndexes.has(index) ? lineSections(blocksToLines([block])) : [block],
  );
}

/** Returns a plainer version of refused content; undefined if nothing would change. */
type Fallback<Content> = (refusal: unknown) => Content | undefined;

/** Fallbacks that keep the buttons. The first one changes only the refused blocks. */
function createBlockFallbacks(blocks: readonly AnyBlock[]): readonly Fallback<readonly AnyBlock[]>[] {
  return [
    (refusal) => replaceRefusedBlocks(blocks, refusal),
    () => (hasTablesOrCharts(blocks) ? replaceTablesAndCharts(blocks) : undefined),
    () => (blocks.some(({ type }) => type === 'actions') ? toTextWithButtons(blocks) : undefined),
  ];
}

/**
 * Sends a message. If Slack refuses its blocks, tries in this order: refused blocks as text, no newer blocks,
 * text with buttons, text only.
 * @throws {SlackApiError} the first refusal, if Slack refuses all versions
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
        ? { text: appendHint(blocksToLines(blocks).join('\n') || text, textOnlyHint), blocks: [] }
        : undefined,
  ]);
}

/** Truncates the text to the limit for updates, which is far below the limit for new messages. */
function appendHint(text: string, hint: string | undefined): string {
  if (hint === undefined) return truncateMarkup(text, LIMITS.messageText);
  return `${truncateMarkup(text, LIMITS.messageText - hint.length - 1)}\n${hint}`;
}

/** Like {@link sendWithFallback}, for a view, which has only blocks. */
export function sendViewWithFallback<T>(
  blocks: readonly KnownBlock[],
  send: (blocks: readonly AnyBlock[]) => Promise<T>,
): Promise<T> {
  return tryVersions<readonly AnyBlock[], T>(blocks, send, [
    ...createBlockFallbacks(blocks),
    () => lineSections(blocksToLines(blocks)),
  ]);
}

async function tryVersions<Content, T>(
  original: Content,
  send: (content: Content) => Promise<T>,
  fallbacks: readonly Fallback<Content>[],
): Promise<T> {
  let firstRefusal: unknown;
  for (const buildVersion of [() => original, ...fallbacks]) {
    const content = buildVersion(firstRefusal);
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
