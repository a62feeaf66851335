import { DAY_MS } from '../../lib/duration.ts';
import type { SlackContext } from '../context.ts';
import type { CommandCall, Feature } from '../feature.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { BYTE_ORDER_MARK, formatCsvLine } from '../kit/csv-file.ts';
import { runWithProgress } from '../outbound/progress.ts';
import { useTemporaryFile } from '../outbound/upload.ts';
import { trySendFile } from '../send-file.ts';
import { createPersonNameLookup } from './actor-names.ts';
import { AUDIT_COLUMNS, buildOrderLines, buildTeamEventCells } from './audit.view.ts';
import {
  auditFileText,
  auditSentText,
  type ExportProgress,
  noEventsText,
  progressText,
  type Span,
} from './audit-export.view.ts';
import { parseSpan, toDateRange } from './span.ts';

const DEFAULT_DAYS = 30;

async function* generateCsvLines(
  context: SlackContext,
  from: Date,
  to: Date,
  onRow: (at: Date) => void,
): AsyncGenerator<string> {
  const lookUp = createPersonNameLookup(context.directory);
  yield BYTE_ORDER_MARK + formatCsvLine(AUDIT_COLUMNS);
  for await (const auditRecord of context.events.read(from, to)) {
    const { at } = 'event' in auditRecord ? auditRecord.event : auditRecord.entry;
    onRow(at);
    if ('event' in auditRecord) yield formatCsvLine(await buildTeamEventCells(auditRecord.event, lookUp));
    else for (const { cells } of await buildOrderLines(auditRecord, lookUp)) yield formatCsvLine(cells);
  }
}

async function runAudit(call: CommandCall): Promise<void> {
  const now = call.context.now();
  const span = parseSpan('audit', call.words, now, new Date(now.getTime() - DEFAULT_DAYS * DAY_MS));
  if ('problem' in span) return call.respond(span.problem);
  const progress: ExportProgress = { rowCount: 0, lastEventAt: undefined, isWritten: false };
  const reply = await runWithProgress(
    call.respond,
    () => textMessage(progressText(progress)),
    () => exportAudit(call, span, progress),
  );
  await call.respond(reply);
}

async function exportAudit(call: CommandCall, span: Span, progress: ExportProgress): Promise<Message> {
  const { context, person } = call;
  const { from, to } = toDateRange(span);
  const lines = generateCsvLines(context, from, to, (at) => {
    progress.rowCount += 1;
    progress.lastEventAt = at;
  });
  return useTemporaryFile(lines, async (path) => {
    progress.isWritten = true;
    const { rowCount } = progress;
    if (rowCount === 0) return textMessage(noEventsText(span));
    const filename = `domain-steward-audit-${span.first}-to-${span.last}.csv`;
    const problem = await trySendFile(call, { path, filename, description: auditFileText(span, rowCount) });
    if (problem !== undefined) return problem;
    context.log.info({ by: person.id, ...span, rows: rowCount }, 'audit log exported');
    return textMessage(auditSentText(span, rowCount));
  });
}

export const audit = {
  commands: [
    {
      usage: 'audit [FROM] [TO]',
      summary: 'Export the audit log of the last 30 days, or another period, as a CSV file',
      example: '/domain audit 2026-01-01 2026-03-31',
      run: runAudit,
    },
  ],
} as const satisfies Feature;
