import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DAY_MS } from '../../duration.ts';
import { isCalendarDay } from '../../zones/calendar-day.ts';
import type { CommandCall, Feature, SlackDeps } from '../feature.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { BYTE_ORDER_MARK, csvLine } from '../kit/csv-file.ts';
import { withProgress } from '../outbound/progress.ts';
import { handOver } from '../send-file.ts';
import { createNamer } from './actor-names.ts';
import { AUDIT_COLUMNS, orderLines, teamEventRow } from './audit.view.ts';
import {
  auditFileText,
  auditSentText,
  type ExportProgress,
  notASpanText,
  nothingHappenedText,
  progressText,
  type Span,
  spanReversedText,
} from './audit-export.view.ts';

/*
 * The audit log as a CSV file, for admins.
 */

const DEFAULT_DAYS = 30;

function spanOf(words: readonly string[], now: Date): Span | { readonly problem: string } {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  const [first = day(now.getTime() - DEFAULT_DAYS * DAY_MS), last = day(now.getTime())] = words;
  const wrong = [first, last].find((word) => !isCalendarDay(word));
  if (words.length > 2 || wrong !== undefined) {
    return { problem: notASpanText(wrong) };
  }
  if (first > last) return { problem: spanReversedText(first, last) };
  return { first, last };
}

async function* csvOf(
  deps: SlackDeps,
  from: Date,
  to: Date,
  onRow: (at: Date) => void,
): AsyncGenerator<string> {
  const nameOf = createNamer(deps.directory);
  yield BYTE_ORDER_MARK + csvLine(AUDIT_COLUMNS);
  for await (const logged of deps.events.read(from, to)) {
    const { at } = 'event' in logged ? logged.event : logged.entry;
    onRow(at);
    if ('event' in logged) yield csvLine(await teamEventRow(logged.event, nameOf));
    else for (const { cells } of await orderLines(logged, nameOf)) yield csvLine(cells);
  }
}

async function runAudit(call: CommandCall): Promise<void> {
  const span = spanOf(call.words, call.deps.now());
  if ('problem' in span) return call.respond(span.problem);
  // Slack needs the length first, so the file is written to disk before the upload.
  const folder = await mkdtemp(join(tmpdir(), 'domain-steward-audit-'));
  const progress: ExportProgress = { rows: 0, at: undefined, isWritten: false };
  const said = await withProgress(
    call.respond,
    () => textMessage(progressText(progress)),
    () => exported(call, span, join(folder, 'audit.csv'), progress),
  ).finally(() => rm(folder, { recursive: true, force: true }));
  await call.respond(said);
}

/** @returns what to tell the person */
async function exported(
  call: CommandCall,
  span: Span,
  path: string,
  progress: ExportProgress,
): Promise<Message> {
  const { deps, person } = call;
  const from = new Date(`${span.first}T00:00:00Z`);
  const to = new Date(Date.parse(`${span.last}T00:00:00Z`) + DAY_MS);
  const lines = csvOf(deps, from, to, (at) => {
    progress.rows += 1;
    progress.at = at;
  });
  await pipeline(Readable.from(lines), createWriteStream(path, { mode: 0o600 }));
  progress.isWritten = true;
  const { rows } = progress;
  if (rows === 0) return textMessage(nothingHappenedText(span));
  const problem = await handOver(call, {
    path,
    filename: `domain-steward-audit-${span.first}-to-${span.last}.csv`,
    what: auditFileText(span, rows),
  });
  if (problem !== undefined) return problem;
  deps.log.info({ by: person.id, ...span, rows }, 'audit log exported');
  return textMessage(auditSentText(span, rows));
}

export const audit = {
  commands: [
    {
      usage: 'audit [FROM] [TO]',
      summary: 'Get the audit log as a CSV file: the last 30 days, or those you say',
      example: '/domain audit 2026-01-01 2026-03-31',
      run: runAudit,
    },
  ],
} as const satisfies Feature;
