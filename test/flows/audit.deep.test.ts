import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { beforeAll, expect, it } from 'vitest';
import { answerTo, DOMAINS, openForm, textOf, useTestDemo } from '../support/demo.ts';
import { ask, orderAfter } from '../support/orders.ts';
import { auditLog, giveReason } from '../support/people.ts';

const PASSWORD = 'never-shown-9431';
const AUTH = 'Auth-Code-77aa';

const t = useTestDemo();
let csv: string;
let rows: Record<string, string>[];

beforeAll(async () => {
  const renewed = await ask(
    t.workspace,
    t.alice,
    '/domain renew cafe.rest 2 -- =HYPERLINK("http://evil","x"), "quoted"',
  );
  await t.bob.click(renewed.card, 'order_approve');
  await renewed.ends('SUCCEEDED');

  const denied = await ask(t.workspace, t.alice, '/domain renew cafe.rest -- twice');
  await giveReason(t.workspace, t.bob, denied.card, 'order_deny', '@too expensive\nthis year');
  await denied.ends('DENIED');

  const transfer = await openForm(t.workspace, t.alice, '/domain transfer bistro.rest');
  const moved = await orderAfter(t.workspace, () =>
    t.alice.submit(transfer, {
      auth: AUTH,
      ownerc: '11',
      adminc: '11',
      techc: '11',
      nameServers: 'ns1.example.net\nns2.example.net',
    }),
  );
  await t.bob.click(moved.card, 'order_approve');
  await t.workspace.waitFor(() => (['SUCCEEDED', 'FAILED'].includes(moved.state) ? true : undefined), {
    what: 'the end of the transfer',
  });

  const user = await openForm(t.workspace, t.alice, '/domain user');
  const made = await orderAfter(t.workspace, () =>
    t.alice.submit(user, {
      user: 'carl',
      context: '4',
      defaultEmail: 'carl@example.com',
      password: PASSWORD,
    }),
  );
  await made.ends('SUCCEEDED');
  await answerTo(t.workspace, t.alice, '/domain watch tea.example 2030-03-01');
  await answerTo(t.workspace, t.bob, '/domain unwatch tea.example');
  csv = await audit('/domain audit');
  rows = parseCsv(csv);
});

/** Requests the audit log and reads the file. */
async function audit(text: string): Promise<string> {
  const { name, csv } = await auditLog(t.workspace, text);
  expect(name).toMatch(/^domain-steward-audit-\d{4}-\d\d-\d\d-to-\d{4}-\d\d-\d\d\.csv$/);
  return csv;
}

/** Reads RFC 4180. */
function parseCsv(text: string): Record<string, string>[] {
  const lines: string[][] = [[]];
  for (const [, quoted, bare, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    lines.at(-1)?.push(quoted?.replaceAll('""', '"') ?? bare ?? '');
    if (end === '\r\n') lines.push([]);
  }
  const [head = [], ...body] = lines.filter((line) => line.length > 1);
  return body.map((line) => Object.fromEntries(head.map((name, index) => [name, line[index] ?? ''])));
}

function row(event: string, task: string): Record<string, string> {
  const found = rows.find((each) => each['event'] === event && each['task'] === task);
  if (found === undefined) throw new Error(`no row says ${event} of ${task}\n${csv}`);
  return found;
}

it('has the requester, the deciders, the request and the response', () => {
  const asked = row('requested', 'renew');
  expect(asked).toMatchObject({
    asked_by: 'Alice (U0ALICE)',
    names: 'cafe.rest',
    account: 'alice in context 4',
    state: 'PENDING',
  });
  expect(JSON.parse(asked['sent'] ?? '')).toEqual({ names: ['cafe.rest'], period: 2 });
  const answered = row('answered', 'renew');
  expect(answered).toMatchObject({
    decided_by: 'Bob (U0BOB)',
    outcome: 'SUCCEEDED',
    service_code: 'S0105',
    service_text: 'The domain was renewed.',
    ctid: answered['order'],
  });
  expect(answered['stid']).toMatch(/\S/);
  expect(row('sending', 'renew')).toMatchObject({ ctid: answered['order'], by: 'Domain Steward' });
  expect(row('denied', 'renew')).toMatchObject({
    by: 'Bob (U0BOB)',
    decided_by: 'Bob (U0BOB)',
    decision_reason: "'@too expensive this year",
    state: 'DENIED',
  });
});

it('has who watched a name and who took it off the list, although it is gone there', () => {
  expect(row('name_watched', 'watch')).toMatchObject({
    by: 'Alice (U0ALICE)',
    names: 'tea.example',
    result: '2030-03-01T00:00:00.000Z',
  });
  expect(row('name_unwatched', 'unwatch')).toMatchObject({ by: 'Bob (U0BOB)', names: 'tea.example' });
});

it('holds no secret', () => {
  expect(JSON.parse(row('requested', 'transfer')['sent'] ?? '')).toMatchObject({ auth: '[secret]' });
  expect(JSON.parse(row('requested', 'user')['sent'] ?? '')).toMatchObject({
    user: 'carl',
    password: '[secret]',
  });
  for (const secret of [AUTH, PASSWORD, 'alice-sandbox-password']) expect(csv).not.toContain(secret);
});

it('is UTF-8 with a byte order mark, and no cell is a formula', () => {
  expect(csv.startsWith('\ufefftime_utc,')).toBe(true);
  expect(csv.endsWith('\r\n')).toBe(true);
  expect(row('requested', 'renew')['reason']).toBe('\'=HYPERLINK("http://evil","x"), "quoted"');
  const formulas = rows.flatMap((each) => Object.values(each)).filter((cell) => /^\s*[=+\-@]/.test(cell));
  expect(formulas).toEqual([]);
});

it('accepts days, including the last one', async () => {
  const today = new Date().toISOString().slice(0, 10);
  expect(parseCsv(await audit(`/domain audit ${today} ${today}`)).length).toBeGreaterThanOrEqual(rows.length);
  const none = await answerTo(t.workspace, t.ada, '/domain audit 2020-01-01 2020-01-31');
  expect(none).toContain('The audit log has no events from 2020-01-01 to 2020-01-31');
});

it.each([
  ['2026-13-01', 'isn’t a date'],
  ['yesterday', 'isn’t a date'],
  ['2026-02-30', 'isn’t a date'],
  ['2026-03-01 2026-02-01', 'Enter the earlier day first'],
  ['2026-01-01 2026-02-01 2026-03-01', 'more than two dates'],
])('reports the error in “%s”', async (words, why) => {
  const told = await answerTo(t.workspace, t.ada, `/domain audit ${words}`);
  expect(told).toContain(why);
});

it('leaves nothing on disk, whether Slack accepts the file or not', async () => {
  t.workspace.faults.set({ method: 'files.completeUploadExternal', kind: 'error', code: 'internal_error' });
  const told = await answerTo(t.workspace, t.ada, '/domain audit');
  expect(told).toContain('I can’t send you the file. Slack refused this (internal_error).');
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('domain-steward-audit-'))).toEqual([]);
});

it('shows its progress if it takes longer, and when it is there', async () => {
  t.workspace.faults.clear();
  const told: string[] = [];
  const before = t.ada.ephemerals(DOMAINS).length;
  t.workspace.faults.set({ method: 'files.getUploadURLExternal', kind: 'slow', delayMs: 2_700, times: 1 });
  await t.ada.command(DOMAINS, '/domain audit');
  await t.workspace.waitFor(
    () => {
      told.splice(0, told.length, ...t.ada.ephemerals(DOMAINS).slice(before).map(textOf));
      return told.find((text) => text.includes('as a direct message'));
    },
    { what: 'the end of the audit log' },
  );
  expect(told).toEqual([
    expect.stringMatching(/^The audit log is ready with \d+ lines\. I’m uploading it to Slack\./),
    expect.stringContaining('as a direct message'),
  ]);
});

it('names the missing scope, and nothing of orders, if the app may not upload', async () => {
  t.workspace.faults.clear();
  t.workspace.faults.set({ method: 'files.getUploadURLExternal', kind: 'error', code: 'missing_scope' });
  const told = await answerTo(t.workspace, t.ada, '/domain audit');
  t.workspace.faults.clear();
  expect(told).toMatch(/^I can’t send you the file\. My app lacks a required permission/);
  expect(told).toContain('reinstall the app with its manifest');
  expect(told).not.toMatch(/orders mine|twice/);
});
