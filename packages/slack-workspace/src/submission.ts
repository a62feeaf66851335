import { z } from 'zod';
import { isObject } from './problems.ts';
import type { Json, JsonObject, View } from './protocol.ts';

const viewSchema = z.record(z.string(), z.json());
const answerSchema = z.discriminatedUnion('response_action', [
  z.object({ response_action: z.literal('errors'), errors: z.record(z.string(), z.string()) }),
  z.object({ response_action: z.literal('update'), view: viewSchema }),
  z.object({ response_action: z.literal('push'), view: viewSchema }),
  z.object({ response_action: z.literal('clear') }),
]);

export type SubmissionAction =
  | { kind: 'errors'; errors: Record<string, string> }
  | { kind: 'update' | 'push'; view: JsonObject }
  | { kind: 'close' | 'clear' }
  | { kind: 'refused'; error: string };

/** @returns `refused` if Slack wouldn't accept the app's response */
export function readSubmissionAnswer(submitted: View, body: Json | undefined): SubmissionAction {
  if (body === undefined || body === '' || (isObject(body) && Object.keys(body).length === 0)) {
    return { kind: 'close' };
  }
  const parsed = answerSchema.safeParse(body);
  if (!parsed.success)
    return { kind: 'refused', error: `not a response to a submission: ${JSON.stringify(body)}` };
  const answer = parsed.data;
  switch (answer.response_action) {
    case 'errors':
      return checkErrors(submitted, answer.errors);
    case 'update':
    case 'push':
      return { kind: answer.response_action, view: answer.view };
    case 'clear':
      return { kind: 'clear' };
  }
}

function checkErrors(submitted: View, errors: Record<string, string>): SubmissionAction {
  const inputIds = submitted.blocks
    .filter((block) => block['type'] === 'input')
    .map((block) => block['block_id']);
  const unknown = Object.keys(errors).filter((blockId) => !inputIds.includes(blockId));
  if (unknown.length > 0)
    return { kind: 'refused', error: `errors for blocks that are not inputs: ${unknown.join(', ')}` };
  return { kind: 'errors', errors };
}
