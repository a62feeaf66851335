import { z } from 'zod';
import { DELEGATIONS, type ItemResult } from './order.ts';
import { recordFinding } from './record-finding.ts';
import { itemSummary } from './summary.ts';

/* The outcome of an item as it is kept, with the item and in the log. */

const hint = z.looseObject({ seen: recordFinding, source: z.string(), seenAt: z.string() });

/** Fields that a newer release has added are kept. */
export const storedItemResult: z.ZodType<ItemResult> = z.looseObject({
  summary: itemSummary,
  code: z.string().exactOptional(),
  text: z.string().exactOptional(),
  stid: z.string().exactOptional(),
  httpStatus: z.number().exactOptional(),
  type: z.string().exactOptional(),
  messages: z
    .array(
      z.looseObject({
        code: z.string().exactOptional(),
        text: z.string().exactOptional(),
        status: z.string().exactOptional(),
        objects: z.array(z.object({ type: z.string(), value: z.string() })).exactOptional(),
      }),
    )
    .exactOptional(),
  object: z
    .looseObject({
      type: z.string().exactOptional(),
      value: z.string().exactOptional(),
      summary: z.number().exactOptional(),
    })
    .exactOptional(),
  data: z.unknown().exactOptional(),
  hasAnswer: z.boolean().exactOptional(),
  errorKind: z.string().exactOptional(),
  hasSecret: z.boolean().exactOptional(),
  resolvedBy: z.string().exactOptional(),
  late: z.enum(['SUCCEEDED', 'FAILED', 'UNKNOWN']).exactOptional(),
  inDoubt: z.boolean().exactOptional(),
  stoppedBy: z.string().exactOptional(),
  doneIn: z.string().exactOptional(),
  confirmedByRegistry: z.boolean().exactOptional(),
  isOverdue: z.boolean().exactOptional(),
  delegation: z.enum(DELEGATIONS).exactOptional(),
  hint: hint.exactOptional(),
});
