import { expect, test } from 'vitest';
import { classifyResponse } from '../../src/service/classify-response.ts';

const task = { effect: 'charge', successCode: 'S1' } as const;
const envelope = { status: { code: 'S1', text: '' }, messages: [], data: [] };

test.each([
  [199, 'unknown_outcome', 'no clear answer'],
  [200, 'done', undefined],
  [299, 'done', undefined],
  [300, 'unknown_outcome', 'a redirect'],
  [399, 'unknown_outcome', 'a redirect'],
  [408, 'unknown_outcome', 'no clear answer'],
  [500, 'unknown_outcome', 'no clear answer'],
])('HTTP %i with a success code: %s', (status, kind, what) => {
  const found = classifyResponse(task, { status, envelope, unreadableReason: '' });
  expect(found.kind).toBe(kind);
  if (found.kind !== 'done') expect(found.problem).toContain(what);
});
