import { z } from 'zod';
import { isObject } from './problems.ts';
import type { Json, JsonObject, View } from './protocol.ts';

const viewSchema = z.record(z.string(), z.json());
const responseSchema = z.discriminatedUnion('response_action', [
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
export function parseSubmissionResponse(submittedView: View, body: Json | undefined): SubmissionAction {
  if (body === undefined || body === '' || (isObject(body) && Object.keys(body).length === 0)) {
    return { kind: 'close' };
  }
  const parsed = responseSchema.safeParse(body);
  if (!parsed.success)
    return { kind: 'refused', error: `not a response to a submission: ${JSON.stringify(body)}` };
  const response = parsed.data;
  switch (response.response_action) {
    case 'errors':
      return checkErrors(submittedView, response.errors);
    case 'update':
    case 'push':
      return { kind: response.response_action, view: response.view };
    case 'clear':
      return { kind: 'clear' };
  }
}

function checkErrors(submittedView: View, errors: Record<string, string>): SubmissionAction {
  const inputBlockIds = submittedView.blocks
    .filter((block) => block['type'] === 'input')
    .map((block) => block['block_id']);
  const unknownBlockIds = Object.keys(errors).filter((blockId) => !inputBlockIds.includes(blockId));
  if (unknownBlockIds.length > 0)
    return { kind: 'refused', error: `errors for blocks that are not inputs: ${unknownBlockIds.join(', ')}` };
  return { kind: 'errors', errors };
}
