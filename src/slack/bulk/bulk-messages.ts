import type { Order } from '../../orders/order.ts';
import { DECISION_KINDS, type OrderLogEntry } from '../../orders/order-events.ts';
import type { SlackContext } from '../context.ts';
import { textMessage } from '../kit/blocks.ts';
import { formatCsvFile } from '../kit/csv-file.ts';
import { createPersonNameLookup } from '../ledger/actor-names.ts';
import { AUDIT_COLUMNS, buildOrderLines } from '../ledger/audit.view.ts';
import type { PlannedThread } from '../orders/order-posts.ts';
import { STATIC_VERSION } from '../outbound/notify.ts';
import { postMessage } from '../outbound/post-message.ts';
import { formatSlackError } from '../outbound/slack-error.view.ts';
import { uploadText } from '../outbound/upload.ts';
import { isTransient, SlackApiError } from '../outbound/web.ts';
import { noFileText, planCells, planComment, progressMessage, resultComment } from './bulk.view.ts';
import { PLAN_FILE_PURPOSE, SHARED_FILE_TS } from './plan-rows.ts';

/*
 * Extra messages in the thread of a bulk order: the progress, and files with the plan and the result. They have no
 * metadata, because messages with metadata count as replies about the order's state.
 */

export async function sendProgress(
  { now }: SlackContext,
  { order, history, version, send, thread }: PlannedThread,
): Promise<void> {
  const occurredAt = history.find(({ kind }) => kind === 'claimed')?.at;
  if (order.bulk === undefined || occurredAt === undefined) return;
  await send({
    purpose: 'progress',
    version: String(version),
    repostKey: 'progress',
    occurredAt,
    places: [async () => thread],
    message: () => progressMessage(order, occurredAt, now()),
  });
}

/** Shares the plan, then the result. The result is shared again each time it changes. */
export async function shareFiles(context: SlackContext, planned: PlannedThread): Promise<void> {
  const { order, history } = planned;
  if (order.bulk === undefined) return;
  const statement = context.buildStatement(order);
  if (statement !== undefined)
    await shareFile(context, planned, PLAN_FILE_PURPOSE, {
      text: async () => formatCsvFile(planCells(statement)),
      filename: `domain-steward-plan-${order.id}.csv`,
      comment: planComment(order),
    });
  // An order that is settled later finishes again and gets a new file.
  const finishedEvent = history.findLast(({ kind }) => kind === 'finished');
  if (finishedEvent === undefined) return;
  await shareFile(context, planned, `file:${finishedEvent.version}`, {
    text: () => buildResultCsv(context, order),
    filename: `domain-steward-result-${order.id}.csv`,
    comment: resultComment(order),
  });
}

/** Shares a file once. If Slack refuses it permanently, posts the error instead. */
async function shareFile(
  { web, log }: SlackContext,
  { order, send, thread, occurredAt }: PlannedThread,
  purpose: string,
  {
    text,
    ...file
  }: { readonly text: () => Promise<string>; readonly filename: string; readonly comment: string },
): Promise<void> {
  await send({
    purpose,
    version: STATIC_VERSION,
    occurredAt,
    places: [async () => thread],
    message: () => textMessage(file.comment),
    post: async () => {
      try {
        await uploadText(web, { ...file, ...thread, text: await text() });
        return { channelId: thread.channelId, ts: SHARED_FILE_TS };
      } catch (error) {
        if (!(error instanceof SlackApiError) || isTransient(error)) throw error;
        log.warn({ err: error, orderId: order.id, purpose }, 'sharing an order’s file failed');
        return postMessage(web, thread, textMessage(noFileText(formatSlackError(error))));
      }
    },
  });
}

/** Events that contain evidence about a row, not its outcome. */
const EVIDENCE_EVENTS: ReadonlySet<OrderLogEntry['kind']> = new Set([
  'hinted',
  'confirmed_by_registry',
  'overdue',
]);

/** Builds a file with the latest audit log entry of each row. */
async function buildResultCsv({ orders, directory }: SlackContext, order: Order): Promise<string> {
  const lookUpName = createPersonNameLookup(directory);
  const lastCellsByRow = new Map<number, readonly string[]>();
  const history = await orders.store.loadHistory(order.id, 'system');
  const decisions = history.filter(({ kind }) => DECISION_KINDS.has(kind));
  for (const entry of history) {
    if (EVIDENCE_EVENTS.has(entry.kind)) continue;
    for (const { itemNumber, cells } of await buildOrderLines({ order, entry, decisions }, lookUpName))
      if (itemNumber !== undefined) lastCellsByRow.set(itemNumber, cells);
  }
  return formatCsvFile([AUDIT_COLUMNS, ...order.items.map(({ n }) => lastCellsByRow.get(n) ?? [])]);
}
