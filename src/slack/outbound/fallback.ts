import { present } from '../../collections.ts';
import { type AnyBlock, asText, hasNewBlocks, lines, type Message, withoutNewBlocks } from '../kit/blocks.ts';
import { mayBeBlockError } from './web.ts';

/** The text of some blocks, with their buttons: without buttons nobody could decide about a card. */
function plainWithButtons(blocks: readonly AnyBlock[]): AnyBlock[] {
  const isButtons = ({ type }: AnyBlock) => type === 'actions';
  return [...lines(asText(blocks.filter((block) => !isButtons(block)))), ...blocks.filter(isButtons)];
}

/**
 * Sends a message. Where Slack refuses its blocks, sends it without the newer blocks, then as text with buttons, and
 * finally as text only.
 * @throws {SlackApiError} the first refusal, when Slack takes none of them
 */
export function withPlainFallback<T>(message: Message, send: (shown: Message) => Promise<T>): Promise<T> {
  const { text, blocks } = message;
  return firstAccepted(
    present([
      () => message,
      hasNewBlocks(blocks) && (() => ({ text, blocks: withoutNewBlocks(blocks) })),
      blocks.some(({ type }) => type === 'actions') && (() => ({ text, blocks: plainWithButtons(blocks) })),
      blocks.length > 0 && (() => ({ text: asText(blocks).join('\n') || text, blocks: [] })),
    ]),
    send,
  );
}

/** The same for a view that consists of blocks only. */
export function withPlainView<T>(
  blocks: readonly AnyBlock[],
  send: (blocks: readonly AnyBlock[]) => Promise<T>,
): Promise<T> {
  return firstAccepted(
    present([
      () => blocks,
      hasNewBlocks(blocks) && (() => withoutNewBlocks(blocks)),
      () => plainWithButtons(blocks),
      () => lines(asText(blocks)),
    ]),
    send,
  );
}

async function firstAccepted<Shown, T>(
  versions: readonly (() => Shown)[],
  send: (shown: Shown) => Promise<T>,
): Promise<T> {
  let refused: unknown;
  for (const version of versions) {
    try {
      return await send(version());
    } catch (error) {
      if (!mayBeBlockError(error)) throw error;
      refused ??= error;
    }
  }
  throw refused;
}
