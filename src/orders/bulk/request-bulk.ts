import type { Secret } from '../../service/secret.ts';
import type { InputIssue } from '../input-issue.ts';
import type { OrderTask } from '../order-task.ts';
import { buildBulkInput } from './bulk.ts';
import type { Bulk, PlanFinding } from './stored-bulk.ts';
import { WAVE_SIZE } from './waves.ts';

export interface BulkRequest {
  readonly rows: readonly {
    readonly name: string;
    readonly input: unknown;
    readonly secret: Secret | undefined;
  }[];
  readonly findings: readonly PlanFinding[];
  readonly skippedCount: number;
}

export function checkRows(task: OrderTask, rows: BulkRequest['rows']): ReturnType<OrderTask['check']> {
  const issues: InputIssue[] = rows.length === 0 ? [{ field: 'name', code: 'no_names' }] : [];
  const names: string[] = [];
  for (const { name, input } of rows) {
    const checkResult = task.check(input);
    if (!checkResult.ok) issues.push(...checkResult.issues);
    else if (checkResult.names.length === 1 && checkResult.names[0] === name) names.push(name);
    else issues.push({ field: 'name', code: 'unreadable' });
  }
  if (new Set(names).size < names.length) issues.push({ field: 'name', code: 'unreadable' });
  return issues.length > 0 ? { ok: false, issues } : { ok: true, input: buildBulkInput(rows), names };
}

/** Builds the data that is stored with a new bulk order. */
export function buildBulk({ findings, skippedCount }: BulkRequest): Bulk {
  return { waveSize: WAVE_SIZE, unreviewedFrom: 1, findings: [...findings], skipped: skippedCount };
}
