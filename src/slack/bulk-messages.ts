import type { Log } from '../log.ts';
import type { Order } from '../orders/order.ts';
import type { HistoryEntry, MessageRef, MessageStore, OrderStore } from '../orders/ports.ts';
import type { Statement } from '../orders/statement.ts';
import { createNamer } from './actor-names.ts';
import type { SlackDirectory } from './directory.ts';
import { PLAN_FILE, refused } from './plan-rows.ts';
import { csvFile } from './platform/csv.ts';
import { uploadText } from './platform/upload.ts';
import { isTransient, SlackApiError, type SlackWeb } from './platform/web.ts';
import { postMessage, updateMessage } from './post-message.ts';
import { AUDIT_COLUMNS, orderLines } from './views/audit.ts';
import { count, textMessage } from './views/blocks.ts';
import { planCells, progressMessage } from './views/bulk.ts';
import { formatSlackError } from './views/slack-error.ts';

/*
 * What the thread of a bulk order has besides replies: one message that shows how far it is, and the files of its plan and
 * its result. They carry no metadata: it would call them replies that say how the order stands.
 */

/** Where the thread of an order is. */
export interface Thread {
  readonly channelId: string;
  readonly threadTs: string;
}

export interface BulkMessageDeps {
  readonly web: SlackWeb;
  readonly directory: SlackDirectory;
  readonly orders: Pick<OrderStore, 'history'>;
  readonly messages: Pick<MessageStore, 'recordMessage'>;
  readonly statementOf: (order: Order) => Statement | undefined;
  readonly now: () => Date;
  readonly log: Log;
  readonly thread: Thread;
}

type Known = ReadonlyMap<string, MessageRef>;

const PROGRESS = 'progress';

/** Brings the message that shows how far an order is up to date; posts it when the order has begun. */
export async function updateProgress(
  deps: BulkMessageDeps,
  order: Order,
  history: readonly HistoryEntry[],
  known: Known,
): Promise<void> {
  const since = history.find(({ kind }) => kind === 'claimed')?.at;
  if (order.bulk === undefined || since === undefined) return;
  const message = progressMessage(order, since, deps.now());
  const standing = known.get(PROGRESS);
  if (standing === undefined) {
    const at = await postMessage(deps.web, deps.thread, message);
    await deps.messages.recordMessage(order.id, { purpose: PROGRESS, ...at });
    return;
  }
  try {
    await updateMessage(deps.web, standing, message);
  } catch (error) {
    if (!(error instanceof SlackApiError) || isTransient(error)) throw error;
    // Somebody has deleted it, or it cannot be changed any more: the card says how it stands.
    deps.log.warn({ err: error, orderId: order.id }, 'updating the progress of an order');
  }
}

/** Shares the plan when the order waits or goes out, and the result at its end and whenever that changes. */
export async function shareFiles(
  deps: BulkMessageDeps,
  order: Order,
  history: readonly HistoryEntry[],
  known: Known,
): Promise<void> {
  if (order.bulk === undefined) return;
  const statement = deps.statementOf(order);
  if (statement !== undefined && !isShared(known, PLAN_FILE)) {
    await share(deps, order, PLAN_FILE, {
      text: csvFile(planCells(statement)),
      filename: `domain-steward-plan-${order.id}.csv`,
      comment: `The plan: ${count(order.items.length, 'row')}.`,
    });
  }
  const last = history.findLast(({ kind }) => kind === 'finished');
  const purpose = `file:${last?.version}`;
  // An end that is not known any more by now has a newer file.
  if (last === undefined || isShared(known, purpose)) return;
  await share(deps, order, purpose, {
    text: await resultCsv(deps, order),
    filename: `domain-steward-result-${order.id}.csv`,
    comment: `The result: ${count(order.items.length, 'row')}, as they stand in the audit log.`,
  });
}

/** Whether a file is shared, or Slack has refused it for good. */
function isShared(known: Known, purpose: string): boolean {
  return known.has(purpose) || known.has(refused(purpose));
}

async function share(
  deps: BulkMessageDeps,
  order: Order,
  purpose: string,
  file: { readonly text: string; readonly filename: string; readonly comment: string },
): Promise<void> {
  const { channelId, threadTs } = deps.thread;
  const record = (shared: string) =>
    deps.messages.recordMessage(order.id, { purpose: shared, channelId, ts: shared });
  try {
    await uploadText(deps.web, { ...file, channelId, threadTs });
  } catch (error) {
    if (!(error instanceof SlackApiError) || isTransient(error)) throw error;
    deps.log.warn({ err: error, orderId: order.id, purpose }, 'sharing a file of an order');
    const { said, todo } = formatSlackError(error);
    await postMessage(deps.web, deps.thread, textMessage(`I cannot share a file here. ${said} ${todo}`));
    await record(refused(purpose));
    return;
  }
  await record(purpose);
}

/** What public records show of a row is not what became of it. */
const BESIDE_THE_POINT: ReadonlySet<HistoryEntry['kind']> = new Set(['hinted', 'shown', 'overdue']);

/**
 * What became of each row: the line of the audit log that was written last about it, in the sequence of the rows and with the
 * columns of the audit log.
 */
async function resultCsv(
  { orders, directory }: Pick<BulkMessageDeps, 'orders' | 'directory'>,
  order: Order,
): Promise<string> {
  const nameOf = createNamer(directory);
  const lastOf = new Map<number, readonly string[]>();
  const history = await orders.history(order.id);
  const approvals = history.filter(({ kind }) => kind === 'approved');
  for (const entry of history) {
    if (BESIDE_THE_POINT.has(entry.kind)) continue;
    for (const { n, cells } of await orderLines({ order, entry, approvals }, nameOf))
      if (n !== undefined) lastOf.set(n, cells);
  }
  return csvFile([AUDIT_COLUMNS, ...order.items.map(({ n }) => lastOf.get(n) ?? [])]);
}
