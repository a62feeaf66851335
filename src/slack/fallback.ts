import { type AnyBlock, hasNewBlocks, withoutNewBlocks } from './views/kit.ts';
import { refusesBlocks } from './web.ts';

/** Sends blocks; where Slack does not know the newer ones, sends them as text. */
export async function withPlainFallback<T>(
  blocks: readonly AnyBlock[],
  send: (blocks: readonly AnyBlock[]) => Promise<T>,
): Promise<T> {
  try {
    return await send(blocks);
  } catch (error) {
    if (!refusesBlocks(error) || !hasNewBlocks(blocks)) throw error;
    return send(withoutNewBlocks(blocks));
  }
}
