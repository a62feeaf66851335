import { DAY_MS } from '../../lib/duration.ts';
import type { SlackContext } from '../context.ts';
import type { CommandCall, Feature } from '../feature.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { BYTE_ORDER_MARK, formatCsvLine } from '../kit/csv-file.ts';
import { runWithProgress } from '../outbound/progress.ts';
import { useTemporaryFile } from '../outbound/upload.ts';
import { deliverFile } from '../send-file.ts';
import { createNameLookup } from './actor-names.ts';
import { AUDIT_COLUMNS, orderLines, teamEventRow } from './audit.view.ts';
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

async function* writeCsv(
  context: SlackContext,
  from: Date,
  to: Date,
  onRow: (at: Date) => void,
): AsyncGenerator<string> {
  const lookUp = createNameLookup(context.directory);
  yield BYTE_ORDER_MARK + formatCsvLine(AUDIT_COLUMNS);
  for await (const logged of context.events.read(from, to)) {
    const { at } = 'event' in logged ? logged.event : logged.entry;
    onRow(at);
    if ('event' in logged) yield formatCsvLine(await teamEventRow(logged.event, lookUp));
    else for (const { cells } of await orderLines(logged, lookUp)) yield formatCsvLine(cells);
  }
}

async function runAudit(call: CommandCall): Promise<void> {
  const now = call.context.now();
  const span = parseSpan('audit', call.words, now, new Date(now.getTime() - DEFAULT_DAYS * DAY_MS));
  if ('problem' in span) return call.respond(span.problem);
  const progress: ExportProgress = { rows: 0, lastLineAt: undefined, isWritten: false };
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
  const lines = writeCsv(context, from, to, (at) => {
    progress.rows += 1;
    progress.lastLineAt = at;
  });
  return useTemporaryFile(lines, async (path) => {
    progress.isWritten = true;
    const { rows } = progress;
    if (rows === 0) return textMessage(noEventsText(span));
    const filename = `domain-steward-audit-${span.first}-to-${span.last}.csv`;
    const problem = await deliverFile(call, { path, filename, description: auditFileText(span, rows) });
    if (problem !== undefined) return problem;
    context.log.info({ by: person.id, ...span, rows }, 'audit log exported');
    return textMessage(auditSentText(span, rows));
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
