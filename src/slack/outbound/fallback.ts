import type { KnownBlock } from '@slack/types';
import {
  type AnyBlock,
  asText,
  hasNewBlocks,
  LIMITS,
  lines,
  type Message,
  truncateMarkup,
  withoutNewBlocks,
} from '../kit/blocks.ts';
import { mayBeBlockError, SlackApiError } from './web.ts';

/** The text of some blocks, with their buttons: without buttons nobody could decide about a card. */
function plainWithButtons(blocks: readonly AnyBlock[]): AnyBlock[] {
  const isButtons = ({ type }: AnyBlock) => type === 'actions';
  return [...lines(asText(blocks.filter((block) => !isButtons(block)))), ...blocks.filter(isButtons)];
}

/** The blocks with those that Slack refused as text; undefined when it didn't say which. */
function withoutRefused(blocks: readonly AnyBlock[], refusal: unknown): AnyBlock[] | undefined {
  const refused = new Set(refusal instanceof SlackApiError ? refusal.refusedBlocks : []);
  if (refused.size === 0) return undefined;
  return blocks.flatMap((block, index) => (refused.has(index) ? lines(asText([block])) : [block]));
}

/** A plainer version of something that Slack refused; undefined when it would be the same. */
type Plainer<Shown> = (refusal: unknown) => Shown | undefined;

/** The plainer versions of some blocks that keep their buttons. A refused block costs only itself. */
function plainerBlocks(blocks: readonly AnyBlock[]): readonly Plainer<readonly AnyBlock[]>[] {
  return [
    (refusal) => withoutRefused(blocks, refusal),
    () => (hasNewBlocks(blocks) ? withoutNewBlocks(blocks) : undefined),
    () => (blocks.some(({ type }) => type === 'actions') ? plainWithButtons(blocks) : undefined),
  ];
}

/**
 * Sends a message. Where Slack refuses its blocks, sends it with these as text, without the newer blocks, as text with
 * buttons, and finally as text only.
 * @throws {SlackApiError} the first refusal, when Slack takes none of them
 */
export function withPlainFallback<T>(message: Message, send: (shown: Message) => Promise<T>): Promise<T> {
  const { text, blocks, textOnlyHint } = message;
  return firstAccepted(message, send, [
    ...plainerBlocks(blocks).map(
      (plainer): Plainer<Message> =>
        (refusal) => {
          const shown = plainer(refusal);
          return shown && { text, blocks: shown };
        },
    ),
    () =>
      blocks.length > 0
        ? { text: textOnly(asText(blocks).join('\n') || text, textOnlyHint), blocks: [] }
        : undefined,
  ]);
}

/** Within the limit of an update, which is far below that of a new message. */
function textOnly(text: string, hint: string | undefined): string {
  if (hint === undefined) return truncateMarkup(text, LIMITS.messageText);
  return `${truncateMarkup(text, LIMITS.messageText - hint.length - 1)}\n${hint}`;
}

/** The same for a view that consists of blocks only. */
export function withPlainView<T>(
  blocks: readonly KnownBlock[],
  send: (blocks: readonly AnyBlock[]) => Promise<T>,
): Promise<T> {
  return firstAccepted<readonly AnyBlock[], T>(blocks, send, [
    ...plainerBlocks(blocks),
    () => lines(asText(blocks)),
  ]);
}

async function firstAccepted<Shown, T>(
  whole: Shown,
  send: (shown: Shown) => Promise<T>,
  plainer: readonly Plainer<Shown>[],
): Promise<T> {
  let first: unknown;
  for (const version of [() => whole, ...plainer]) {
    const shown = version(first);
    if (shown === undefined) continue;
    try {
      return await send(shown);
    } catch (error) {
      if (!mayBeBlockError(error)) throw error;
      first ??= error;
    }
  }
  throw first;
}
