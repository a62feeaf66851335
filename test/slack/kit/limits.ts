import {
  checkBlocks,
  checkView,
  describeProblem,
  LIMITS,
  mentionsIn,
  type Surface,
  textLength,
} from '@domain-steward/slack-workspace';
import { expect } from 'vitest';
import { z } from 'zod';
import type { AnyBlock, Message } from '../../../src/slack/kit/blocks.ts';
import { hasNewBlocks, replaceNewBlocks } from '../../../src/slack/kit/blocks.ts';

/** As sent over the wire. */
const wire = z.record(z.string(), z.json());
const wireBlocks = z.array(wire);

export function toWireBlocks(blocks: readonly AnyBlock[]) {
  return wireBlocks.parse(JSON.parse(JSON.stringify(blocks)));
}

/** Slack accepts the blocks on a surface, and in a message also without the newer kinds. */
export function expectBlocks(blocks: readonly AnyBlock[], surface: Surface): void {
  const sent = toWireBlocks(blocks);
  expect(checkBlocks(sent, surface, '/blocks').map(describeProblem)).toEqual([]);
  if (surface === 'message') {
    expect(textLength(sent), 'all text of the blocks').toBeLessThanOrEqual(LIMITS.message.blocksText);
  }
  if (hasNewBlocks(blocks)) expectBlocks(replaceNewBlocks(blocks), surface);
}

/** Slack accepts the message, for posting and updating. */
export function expectMessage(message: Message): void {
  expect(message.text.length).toBeGreaterThan(0);
  expect(message.text.length).toBeLessThanOrEqual(LIMITS.message.updatedText);
  expectBlocks(message.blocks, 'message');
}

export function expectView(view: object, kind: 'modal' | 'home'): void {
  const sent = wire.parse(JSON.parse(JSON.stringify(view)));
  expect(checkView(sent, kind).map(describeProblem)).toEqual([]);
}

/** The mentions of a message, with and without the newer blocks. */
export function listMentions(message: Message): string[] {
  return [
    ...new Set([
      ...mentionsIn(message.text, toWireBlocks(message.blocks)),
      ...mentionsIn('', toWireBlocks(replaceNewBlocks(message.blocks))),
    ]),
  ];
}
