import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { beforeAll, expect, it } from 'vitest';
import { DOMAINS, openForm, readCommandReply, textOf, useTestDemo } from '../support/demo.ts';
import { requestByCommand, waitForOrder } from '../support/orders.ts';
import { downloadAuditLog, giveReason } from '../support/people.ts';

const PASSWORD = 'never-shown-9431';
const AUTH_CODE = 'Auth-Code-77aa';

const t = useTestDemo();
let csv: string;
let rows: Record<string, string>[];

beforeAll(async () => {
  const renewal = await requestByCommand(
    t.workspace,
    t.alice,
    '/domain renew cafe.rest 2 -- =HYPERLINK("http://evil","x"), "quoted"',
  );
  await t.bob.click(renewal.card, 'order_approve');
  await renewal.waitForResult('SUCCEEDED');

  const deniedRenewal = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest -- twice');
  await giveReason(t.workspace, t.bob, deniedRenewal.card, 'order_deny', '@too expensive\nthis year');
  await deniedRenewal.waitForResult('DENIED');

  const transferForm = await openForm(t.workspace, t.alice, '/domain transfer bistro.rest');
  const transferOrder = await waitForOrder(t.workspace, () =>
    t.alice.submit(transferForm, {
      auth: AUTH_CODE,
      ownerc: '11',
      adminc: '11',
      techc: '11',
      nameServers: 'ns1.example.net\nns2.example.net',
    }),
  );
  await t.bob.click(transferOrder.card, 'order_approve');
  await t.workspace.waitFor(
    () => (['SUCCEEDED', 'FAILED'].includes(transferOrder.state) ? true : undefined),
    {
      what: 'the end of the transfer',
    },
  );

  const userForm = await openForm(t.workspace, t.alice, '/domain user');
  const userOrder = await waitForOrder(t.workspace, () =>
    t.alice.submit(userForm, {
      user: 'carl',
      context: '4',
      defaultEmail: 'carl@example.com',
      password: PASSWORD,
    }),
  );
  await userOrder.waitForResult('SUCCEEDED');
  await readCommandReply(t.workspace, t.alice, '/domain watch tea.example 2030-03-01');
  await readCommandReply(t.workspace, t.bob, '/domain unwatch tea.example');
  csv = await downloadCsv('/domain audit');
  rows = parseCsv(csv);
});

async function downloadCsv(text: string): Promise<string> {
  const { name, csv } = await downloadAuditLog(t.workspace, text);
  expect(name).toMatch(/^domain-steward-audit-\d{4}-\d\d-\d\d-to-\d{4}-\d\d-\d\d\.csv$/);
  return csv;
}

/** Parses CSV as RFC 4180 defines it. */
function parseCsv(text: string): Record<string, string>[] {
  const lines: string[][] = [[]];
  for (const [, quoted, unquoted, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    lines.at(-1)?.push(quoted?.replaceAll('""', '"') ?? unquoted ?? '');
    if (end === '\r\n') lines.push([]);
  }
  const [header = [], ...body] = lines.filter((line) => line.length > 1);
  return body.map((line) => Object.fromEntries(header.map((name, index) => [name, line[index] ?? ''])));
}

function findRow(event: string, task: string): Record<string, string> {
  const found = rows.find((each) => each['event'] === event && each['task'] === task);
  if (found === undefined) throw new Error(`no row for ${event} of ${task}\n${csv}`);
  return found;
}

it('the audit log shows the requester, the deciders, the request and the response', () => {
  const requested = findRow('requested', 'renew');
  expect(requested).toMatchObject({
    asked_by: 'Alice (U0ALICE)',
    names: 'cafe.rest',
    account: 'alice in context 4',
    state: 'PENDING',
  });
  expect(JSON.parse(requested['sent'] ?? '')).toEqual({ names: ['cafe.rest'], period: 2 });
  const answered = findRow('answered', 'renew');
  expect(answered).toMatchObject({
    decided_by: 'Bob (U0BOB)',
    outcome: 'SUCCEEDED',
    service_code: 'S0105',
    service_text: 'The domain was renewed.',
    ctid: answered['order'],
  });
  expect(answered['stid']).toMatch(/\S/);
  expect(findRow('sending', 'renew')).toMatchObject({ ctid: answered['order'], by: 'Domain Steward' });
  expect(findRow('denied', 'renew')).toMatchObject({
    by: 'Bob (U0BOB)',
    decided_by: 'Bob (U0BOB)',
    decision_reason: "'@too expensive this year",
    state: 'DENIED',
  });
});

it('the audit log shows who watched a name and who unwatched it', () => {
  expect(findRow('name_watched', 'watch')).toMatchObject({
    by: 'Alice (U0ALICE)',
    names: 'tea.example',
    result: '2030-03-01T00:00:00.000Z',
  });
  expect(findRow('name_unwatched', 'unwatch')).toMatchObject({ by: 'Bob (U0BOB)', names: 'tea.example' });
});

it('the audit log contains no secrets', () => {
  expect(JSON.parse(findRow('requested', 'transfer')['sent'] ?? '')).toMatchObject({ auth: '[secret]' });
  expect(JSON.parse(findRow('requested', 'user')['sent'] ?? '')).toMatchObject({
    user: 'carl',
    password: '[secret]',
  });
  for (const secret of [AUTH_CODE, PASSWORD, 'alice-sandbox-password']) expect(csv).not.toContain(secret);
});

it('the audit log is UTF-8 with a byte order mark, and no cell is a formula', () => {
  expect(csv.startsWith('\ufefftime_utc,')).toBe(true);
  expect(csv.endsWith('\r\n')).toBe(true);
  expect(findRow('requested', 'renew')['reason']).toBe('\'=HYPERLINK("http://evil","x"), "quoted"');
  const formulas = rows.flatMap((each) => Object.values(each)).filter((cell) => /^\s*[=+\-@]/.test(cell));
  expect(formulas).toEqual([]);
});

it('the command accepts a range of days, including the last one', async () => {
  const today = new Date().toISOString().slice(0, 10);
  expect(parseCsv(await downloadCsv(`/domain audit ${today} ${today}`)).length).toBeGreaterThanOrEqual(
    rows.length,
  );
  const reply = await readCommandReply(t.workspace, t.ada, '/domain audit 2020-01-01 2020-01-31');
  expect(reply).toContain('The audit log has no events from 2020-01-01 to 2020-01-31');
});

it.each([
  ['2026-13-01', 'isn’t a date'],
  ['yesterday', 'isn’t a date'],
  ['2026-02-30', 'isn’t a date'],
  ['2026-03-01 2026-02-01', 'Enter the earlier day first'],
  ['2026-01-01 2026-02-01 2026-03-01', 'more than two dates'],
])('the command rejects the range “%s” with a reason', async (words, reason) => {
  const reply = await readCommandReply(t.workspace, t.ada, `/domain audit ${words}`);
  expect(reply).toContain(reason);
});

it('the command leaves no file on disk when Slack refuses the upload', async () => {
  t.workspace.faults.set({ method: 'files.completeUploadExternal', kind: 'error', code: 'internal_error' });
  const reply = await readCommandReply(t.workspace, t.ada, '/domain audit');
  expect(reply).toContain('I can’t send you the file. Slack refused this (internal_error).');
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('domain-steward-audit-'))).toEqual([]);
});

it('the command shows progress if it takes long, and reports when the file is sent', async () => {
  t.workspace.faults.clear();
  const replies: string[] = [];
  const before = t.ada.ephemerals(DOMAINS).length;
  t.workspace.faults.set({ method: 'files.getUploadURLExternal', kind: 'slow', delayMs: 2_700, times: 1 });
  await t.ada.command(DOMAINS, '/domain audit');
  await t.workspace.waitFor(
    () => {
      replies.splice(0, replies.length, ...t.ada.ephemerals(DOMAINS).slice(before).map(textOf));
      return replies.find((text) => text.includes('as a direct message'));
    },
    { what: 'the reply that the file is sent' },
  );
  expect(replies).toEqual([
    expect.stringMatching(/^The audit log is ready with \d+ lines\. I’m uploading it to Slack\./),
    expect.stringContaining('as a direct message'),
  ]);
});

it('the command reports a missing permission without order details if the app can’t upload', async () => {
  t.workspace.faults.clear();
  t.workspace.faults.set({ method: 'files.getUploadURLExternal', kind: 'error', code: 'missing_scope' });
  const reply = await readCommandReply(t.workspace, t.ada, '/domain audit');
  t.workspace.faults.clear();
  expect(reply).toMatch(/^I can’t send you the file\. My app lacks a required permission/);
  expect(reply).toContain('reinstall the app with its manifest');
  expect(reply).not.toMatch(/orders mine|twice/);
});
