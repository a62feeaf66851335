import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { useTestDemo } from '../support/demo.ts';
import { auditLog } from '../support/people.ts';
import { type Generated, recordDay } from '../support/recorded-day.ts';

/*
 * The audit file of a day on which everything happens that the log knows is what it was when the day was first recorded. Its
 * lines are compared sorted: of events of one moment, and of those of orders and of everything else, the file has said
 * which came first in different ways.
 */

const FIXTURE = new URL('../fixtures/audit-run.csv', import.meta.url);

let generated: Generated = new Map();
const t = useTestDemo({
  databaseUrl: async (url) => {
    generated = await recordDay(url);
    return url;
  },
});

test('the audit file of a recorded day has the lines that it had', async () => {
  const { csv } = await auditLog(t.workspace, '/domain audit 2026-03-01 2026-03-31');
  const named = [...generated].reduce((text, [value, name]) => text.replaceAll(value, name), csv);
  const [head, ...lines] = named.replace('\ufeff', '').trimEnd().split('\r\n');
  const seen = [head, ...lines.sort()].join('\n');
  expect(`${seen}\n`).toBe(await readFile(FIXTURE, 'utf8'));
});
