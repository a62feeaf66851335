import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { useTestDemo } from '../support/demo.ts';
import { downloadAuditLog } from '../support/people.ts';
import { type GeneratedValues, recordDay } from '../support/recorded-day.ts';

/*
 * The audit file of a day with every kind of event matches the recorded one. Lines are sorted, because versions have
 * ordered simultaneous events differently.
 */

const FIXTURE = new URL('../fixtures/audit-run.csv', import.meta.url);

let generated: GeneratedValues = new Map();
const t = useTestDemo({
  databaseUrl: async (url) => {
    generated = await recordDay(url);
    return url;
  },
});

test('the audit file of a recorded day is unchanged', async () => {
  const { csv } = await downloadAuditLog(t.workspace, '/domain audit 2026-03-01 2026-03-31');
  const csvWithNames = [...generated].reduce((text, [value, name]) => text.replaceAll(value, name), csv);
  const [header, ...lines] = csvWithNames.replace('\ufeff', '').trimEnd().split('\r\n');
  const actual = [header, ...lines.sort()].join('\n');
  expect(`${actual}\n`).toBe(await readFile(FIXTURE, 'utf8'));
});
