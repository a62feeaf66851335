import {
  checkBlocks,
  checkView,
  describeProblem,
  findMentions,
  getTextLength,
  LIMITS,
  type Surface,
} from '@domain-steward/slack-workspace';
import { expect } from 'vitest';
import { z } from 'zod';
import type { AnyBlock, Message } from '../../../src/slack/kit/blocks.ts';
import { hasTablesOrCharts, replaceTablesAndCharts } from '../../../src/slack/kit/blocks.ts';

/** A JSON object, as sent to Slack. */
const wireObject = z.record(z.string(), z.json());
const wireBlocks = z.array(wireObject);

export function toWireBlocks(blocks: readonly AnyBlock[]) {
  return wireBlocks.parse(JSON.parse(JSON.stringify(blocks)));
}

/** Expects that Slack accepts the blocks on a surface, also with tables and charts replaced by text. */
export function expectValidBlocks(blocks: readonly AnyBlock[], surface: Surface): void {
  const sentBlocks = toWireBlocks(blocks);
  expect(checkBlocks(sentBlocks, surface, '/blocks').map(describeProblem)).toEqual([]);
  if (surface === 'message') {
    expect(getTextLength(sentBlocks), 'all text of the blocks').toBeLessThanOrEqual(
      LIMITS.message.blocksText,
    );
  }
  if (hasTablesOrCharts(blocks)) expectValidBlocks(replaceTablesAndCharts(blocks), surface);
}

/** Expects that Slack accepts the message, for posting and updating. */
export function expectValidMessage(message: Message): void {
  expect(message.text.length).toBeGreaterThan(0);
  expect(message.text.length).toBeLessThanOrEqual(LIMITS.message.updatedText);
  expectValidBlocks(message.blocks, 'message');
}

export function expectValidView(view: object, kind: 'modal' | 'home'): void {
  const sentView = wireObject.parse(JSON.parse(JSON.stringify(view)));
  expect(checkView(sentView, kind).map(describeProblem)).toEqual([]);
}

/** Lists the mentions of a message, also with tables and charts replaced by text. */
export function listMentions(message: Message): string[] {
  return [
    ...new Set([
      ...findMentions(message.text, toWireBlocks(message.blocks)),
      ...findMentions('', toWireBlocks(replaceTablesAndCharts(message.blocks))),
    ]),
  ];
}
