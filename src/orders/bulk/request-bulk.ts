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
  readonly skipped: number;
}

type CheckResult = ReturnType<OrderTask['check']>;

export function checkRows(task: OrderTask, rows: BulkRequest['rows']): CheckResult {
  const issues: InputIssue[] = [];
  const names: string[] = [];
  for (const { name, input } of rows) {
    const checked = task.check(input);
    if (!checked.ok) issues.push(...checked.issues);
    else if (checked.names.length === 1 && checked.names[0] === name) names.push(name);
    else issues.push({ field: 'name', code: 'unreadable' });
  }
  if (new Set(names).size < names.length) issues.push({ field: 'name', code: 'unreadable' });
  return issues.length > 0 || rows.length === 0
    ? { ok: false, issues: issues.length > 0 ? issues : [{ field: 'name', code: 'no_names' }] }
    : { ok: true, input: buildBulkInput(rows), names };
}

/** The parts of a plan that are stored with a new bulk order. */
export function buildBulk({ findings, skipped }: BulkRequest): Bulk {
  return { waveSize: WAVE_SIZE, unreviewedFrom: 1, findings: [...findings], skipped };
}
