import { SANDBOX_CONTACTS, SANDBOX_NAMESERVERS } from '@domain-steward/sandbox-service';
import type { Message } from '@domain-steward/slack-workspace';
import { expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { approveInDetails, readDetails } from '../support/looking.ts';
import { orderOf, requestsOf, type VisibleOrder, waitForOrder } from '../support/orders.ts';
import { downloadAuditLog, expectFormClosed, listFields, waitForEphemeral } from '../support/people.ts';

/* A bulk order has a file of rows, a plan, one approval, waves of requests, and a file with all results. */

const t = useTestDemo();

function createNames(label: string, count: number): string[] {
  const names = Array.from({ length: count }, (_, index) => `${label}-${index + 1}.rest`);
  for (const name of names) t.service.state.addDomain({ name, context: 4 });
  return names;
}

const csv = (header: string, rows: readonly string[]) => [header, ...rows].join('\n');

function refuseNextRequest(name: string, text: string, code = 'EF01055'): void {
  t.service.faults.set({ kind: 'refuse', code, text, times: 1, match: { name } });
}

/** Alice submits rows. @returns the plan that she sees */
async function submitRows(
  task: string,
  rows: string,
  otherFields: Readonly<Record<string, string>> = {},
): Promise<Message> {
  const form = await openForm(t.workspace, t.alice, `/domain bulk ${task}`);
  const before = t.alice.ephemerals().length;
  expectFormClosed(await t.alice.submit(form, { rows, ...otherFields }));
  // A notice about an earlier card, which took long, may arrive now.
  const isPlan = (message: Message) => !textOf(message).includes('I’m posting the card');
  return t.workspace.waitFor(() => t.alice.ephemerals().slice(before).find(isPlan), { what: 'the plan' });
}

/** Alice submits rows and requests the valid ones. */
async function requestBulk(
  task: string,
  rows: string,
  otherFields?: Readonly<Record<string, string>>,
): Promise<VisibleOrder> {
  const plan = await submitRows(task, rows, otherFields);
  return waitForOrder(t.workspace, () => t.alice.click(plan, 'order_confirm'));
}

/** A file in an order's thread, as text. */
async function downloadFile(order: VisibleOrder, name: RegExp): Promise<string> {
  const file = await t.workspace.waitFor(
    () =>
      t.workspace
        .messages(DOMAINS)
        .filter(({ thread_ts: thread }) => thread === order.card.ts)
        .flatMap(({ files }) => files ?? [])
        .find((shared) => name.test(shared.name)),
    { what: `the file ${name} of order ${order.id}` },
  );
  const bytes = await (await fetch(new URL(file.url_private_download, t.workspace.url))).arrayBuffer();
  return Buffer.from(bytes).toString('utf8');
}

const splitCsvLines = (file: string) =>
  file
    .replace(/^\ufeff/, '')
    .split('\r\n')
    .filter((line) => line !== '');

test('a plan shows valid and invalid rows, and nothing is requested until it is confirmed', async () => {
  const [first = '', second = ''] = createNames('plan', 2);
  const before = t.workspace.messages(DOMAINS).length;
  const plan = await submitRows(
    'renew',
    csv('name,period', [`${first},1`, 'nodot,1', `${second},99`, `${first},1`]),
  );
  const text = textOf(plan);
  expect(text).toMatch(/1 of 4 rows is valid/);
  expect(text).toMatch(/Line 3 \(nodot\)/);
  expect(text).toMatch(/Line 4 \(plan-2\.rest\): period: /);
  expect(text).toMatch(/Line 5 \(plan-1\.rest\): It’s the same as line 2/);
  expect(text).toMatch(/1 name\* not on the watch list: plan-1\.rest/);
  expect(text).toMatch(/1 approval from .*<@U0BOB>/);
  expect(text).toMatch(/Plan `[0-9a-f]{8}`/);
  expect(buttonsOf(plan)).toEqual(['order_confirm', 'bulk_drop']);
  expect(t.workspace.messages(DOMAINS)).toHaveLength(before);
  const file = t.workspace.messages('D0ALICE').findLast(({ files }) => files !== undefined)?.files?.[0];
  expect(file?.name).toBe('domain-steward-skipped-rows.csv');

  await t.alice.click(plan, 'bulk_drop');
  const reply = await performAndReadReply(t.workspace, t.alice, () => t.alice.click(plan, 'order_confirm'));
  expect(reply).toContain('was dropped');
});

test('deleting many names must be confirmed by typing their number and one of them', async () => {
  const names = createNames('typed', 3);
  const plan = await submitRows('delete', csv('name', names));
  const form = await performAndWaitForView(t.workspace, t.alice, () => t.alice.click(plan, 'order_confirm'));
  expect(form.callback_id).toBe('confirm');
  expect(listFields(form)).toEqual(['count', 'name']);
  expect(textOf(form)).toContain('Delete 3 names?');
  expect(await t.alice.submit(form, { count: '2', name: 'cafe.rest' })).toMatchObject({
    outcome: 'errors',
    errors: {
      count: expect.stringContaining('There are 3 names'),
      name: expect.stringContaining('isn’t in this order'),
    },
  });
  expect(await t.alice.submit(form, { name: 'typed-2.rest' })).toMatchObject({
    outcome: 'errors',
    errors: { count: expect.any(String) },
  });
  expect(t.service.requestsFor({ task: 'domain.delete' })).toEqual([]);
  const order = await waitForOrder(t.workspace, async () =>
    expectFormClosed(await t.alice.submit(form, { count: '3', name: 'Typed-2.REST' })),
  );
  await t.advanceClockUntil(order.waitForResult('SUCCEEDED'));
  expect(orderOf(order.card)?.names).toBe(names.join(','));
});

test('a bulk order has one card and a request per row, and its file matches the audit log', async () => {
  const names = createNames('many', 23);
  const rows = names.map((name, index) => `${name},${(index % 2) + 1}`);
  refuseNextRequest('many-9.rest', 'not now');
  const order = await requestBulk('renew', csv('name,period', rows), { reason: 'the season' });
  await t.advanceClockUntil(order.waitForState('PENDING'));
  const card = textOf(order.card);
  expect(card).toMatch(/Renew 23 names/);
  const details = await readDetails(t.workspace, t.bob, order.card);
  const [, hash = ''] = /Plan\*\n`([0-9a-f]{64})`/.exec(details) ?? [];
  expect(hash).not.toBe('');
  expect(card).toContain(`plan \`${hash.slice(0, 8)}\``);
  expect(details).toMatch(/sends 23 requests, one per name, in waves of 20/);
  const plan = await downloadFile(order, /plan/);
  expect(splitCsvLines(plan)).toHaveLength(24);
  expect(splitCsvLines(plan)[2]).toBe('2,many-2.rest,2,,,,,');

  await approveInDetails(t.workspace, t.bob, order.card);
  const reply = await t.advanceClockUntil(order.waitForResult('FAILED'));
  expect(textOf(reply)).toMatch(/22 done · 1 failed/);
  expect(textOf(reply), 'the reason in the thread').toMatch(
    /:x: \*many-9\.rest\*: failed · `EF01055` “not now”/,
  );
  for (const [index, name] of names.entries()) {
    const sent = t.service.requestsFor({ task: 'domain.renew', name });
    expect(sent.map(({ ctid, body }) => [ctid, body])).toEqual([
      [`${order.id}.${index + 1}`, { period: (index % 2) + 1 }],
    ]);
  }
  const progressMessages = t.workspace
    .messages(DOMAINS)
    .filter((message) => message.thread_ts === order.card.ts && textOf(message).includes('%'));
  expect(progressMessages).toHaveLength(1);
  expect(textOf(progressMessages[0] ?? { blocks: [] })).toMatch(/100%.*22 done · 1 failed/s);
  expect(order.replies(), 'one reply for all names').toHaveLength(1);

  const result = splitCsvLines(await downloadFile(order, /result/));
  const audit = splitCsvLines((await downloadAuditLog(t.workspace)).csv);
  expect(result).toHaveLength(24);
  expect(result[0]).toBe(audit[0]);
  for (const [index, line] of result.slice(1).entries()) {
    expect(audit, `row ${index + 1}`).toContain(line);
    expect(line).toContain(`,${order.id}.${index + 1},`);
  }
  expect(audit.find((line) => line.includes(',approved,'))).toContain(',23 names,');
});

test('Retry requests the failed rows again with a new plan', async () => {
  const names = createNames('again', 4);
  const [first = '', secondName = '', third = ''] = names;
  for (const name of [first, third]) refuseNextRequest(name, 'locked');
  refuseNextRequest(secondName, 'no', 'EF02000');
  const order = await requestBulk(
    'renew',
    csv(
      'name,period',
      names.map((name) => `${name},2`),
    ),
  );
  await t.advanceClockUntil(order.waitForState('PENDING'));
  await approveInDetails(t.workspace, t.bob, order.card);
  const reply = await t.advanceClockUntil(order.waitForResult('FAILED'));
  expect(textOf(reply)).toMatch(/:x: \*again-1\.rest, again-3\.rest\*: failed · `EF01055` “locked”/);
  expect(textOf(reply)).toMatch(/:x: \*again-2\.rest\*: failed · `EF02000` “no”/);

  const replyToAda = await performAndReadReply(t.workspace, t.ada, () => t.ada.click(reply, 'order_retry'));
  expect(replyToAda).toMatch(/Only the requester or an approver can retry/);
  const before = t.alice.ephemerals().length;
  await t.alice.click(reply, 'order_retry');
  const plan = await t.workspace.waitFor(() => t.alice.ephemerals()[before], { what: 'the plan' });
  expect(textOf(plan)).toMatch(/Renew 3 names: 3 of 3 rows are valid/);
  const replyToBob = await performAndReadReply(t.workspace, t.bob, () => t.bob.click(reply, 'order_retry'));
  expect(replyToBob, 'a retry by another person').toMatch(/^<@U0ALICE> is already retrying this order/);
  await t.alice.click(plan, 'bulk_drop');
  await t.alice.click(reply, 'order_retry');
  const secondPlan = await t.workspace.waitFor(() => t.alice.ephemerals()[before + 1], {
    what: 'another plan after the first was dropped',
  });
  const retry = await waitForOrder(t.workspace, () => t.alice.click(secondPlan, 'order_confirm'));
  await t.advanceClockUntil(retry.waitForState('PENDING'));
  expect(textOf(retry.card)).toContain(order.id);
  const secondRetryReply = await performAndReadReply(t.workspace, t.alice, () =>
    t.alice.click(reply, 'order_retry'),
  );
  expect(secondRetryReply, 'a second retry').toContain(`The name already has an open order, ${retry.id}`);
  await approveInDetails(t.workspace, t.bob, retry.card);
  await t.advanceClockUntil(retry.waitForResult('SUCCEEDED'));
  for (const name of names) {
    const sent = t.service.requestsFor({ task: 'domain.renew', name });
    expect(sent.map(({ body }) => body)).toEqual(
      (name === 'again-4.rest' ? [1] : [1, 2]).map(() => ({ period: 2 })),
    );
  }
  const lateRetryReply = await performAndReadReply(t.workspace, t.alice, () =>
    t.alice.click(reply, 'order_retry'),
  );
  expect(lateRetryReply).toContain(
    `This was already requested. To see the order, use \`/domain order ${retry.id}\``,
  );
});

test('three refusals in a row pause a bulk order, which people can resume or stop', async () => {
  const names = createNames('halt', 30);
  for (const name of names.slice(2, 12)) refuseNextRequest(name, 'no');
  const order = await requestBulk('renew', csv('name', names));
  await t.advanceClockUntil(order.waitForState('PENDING'));
  await approveInDetails(t.workspace, t.bob, order.card);
  const pause = await t.advanceClockUntil(
    t.workspace.waitFor(() => order.replies().find((reply) => buttonsOf(reply).includes('order_resume')), {
      what: 'the reply that the order is paused',
    }),
  );
  expect(textOf(pause)).toMatch(/<@U0ALICE>, <@U0BOB>.*is paused.*refused three names in a row/s);
  const isPaused = () => (textOf(order.card).includes('Paused') ? true : undefined);
  await t.advanceClockUntil(t.workspace.waitFor(isPaused, { what: 'the card to show the pause' }));
  expect(buttonsOf(order.card)).toEqual(expect.arrayContaining(['order_resume', 'order_stop']));
  const sent = t.service
    .requestsFor({ task: 'domain.renew' })
    .filter(({ ctid }) => ctid?.startsWith(order.id));
  expect(sent.length).toBeLessThan(12);
  const pausedText = ':pause_button:.*paused until someone resumes or stops it';
  await t.alice.openHome();
  const home = await t.workspace.waitFor(() => t.alice.homeView(), { what: 'Alice’s Home tab' });
  expect(textOf(home), 'in Home').toMatch(new RegExp(`${order.id}.*${pausedText.split('.*')[1]}`));
  expect(await readCommandReply(t.workspace, t.alice, '/domain orders mine'), 'in lists').toContain(
    'paused until',
  );
  expect(await readCommandReply(t.workspace, t.alice, `/domain name ${names[0]}`)).toMatch(
    new RegExp(pausedText),
  );

  const answer = await performAndReadReply(t.workspace, t.ada, () => t.ada.click(pause, 'order_resume'));
  expect(answer).toMatch(/Only the requester or an approver/);
  await t.bob.click(pause, 'order_resume');
  const secondPause = await t.advanceClockUntil(
    t.workspace.waitFor(
      () => order.replies().filter((reply) => buttonsOf(reply).includes('order_resume'))[1],
      { what: 'the order to be paused again' },
    ),
  );
  await t.alice.click(secondPause, 'order_stop');
  await t.advanceClockUntil(order.waitForResult('FAILED'));
  const result = splitCsvLines(await downloadFile(order, /result/));
  expect(result).toHaveLength(31);
  expect(result.filter((line) => line.includes(',stopped,')).length).toBeGreaterThan(10);
  const audit = splitCsvLines((await downloadAuditLog(t.workspace)).csv);
  for (const line of result) expect(audit).toContain(line);
  t.service.faults.clear();
});

test('an attached file is read, and an unreadable one is reported', async () => {
  const [name = ''] = createNames('attached', 1);
  const form = await openForm(t.workspace, t.alice, '/domain bulk renew');
  const latin1File = t.alice.upload('names.csv', Buffer.from('name\nmünchen.rest', 'latin1'));
  expect(await t.alice.submit(form, { file: [latin1File] })).toMatchObject({
    outcome: 'errors',
    errors: { file: expect.stringMatching(/Line 2 has an unreadable character.*CSV UTF-8/) },
  });
  const utf16File = t.alice.upload('names.csv', Buffer.from(`\ufeffname;period\r\n${name};3`, 'utf16le'));
  const before = t.alice.ephemerals().length;
  expectFormClosed(await t.alice.submit(form, { file: [utf16File] }));
  const plan = await t.workspace.waitFor(() => t.alice.ephemerals()[before], { what: 'the plan' });
  const order = await waitForOrder(t.workspace, () => t.alice.click(plan, 'order_confirm'));
  expect(textOf(order.card)).toMatch(/Renew attached-1\.rest/);
  expect(await readDetails(t.workspace, t.bob, order.card)).toContain('3 years');
});

test('registered names get the owner and note from the form, which aren’t sent', async () => {
  const row = (name: string) =>
    `${name},${SANDBOX_CONTACTS.slice(0, 3).join(',')},${SANDBOX_NAMESERVERS.join(' ')}`;
  const header = 'name,ownerc,adminc,techc,nameservers';
  const form = await openForm(t.workspace, t.alice, '/domain bulk create');
  expect(form.state.values).toMatchObject({ owner: { owner: { selected_user: 'U0ALICE' } } });
  const valuesWithStranger = { rows: csv(header, [row('never.rest')]), owner: 'U0DAVE' };
  expect(await t.alice.submit(form, valuesWithStranger)).toMatchObject({
    errors: { owner: expect.stringContaining('Owners must be members of this workspace') },
  });
  t.alice.close(form);
  const rows = csv(header, ['kiosk-1.rest', 'kiosk-2.rest'].map(row));
  const order = await requestBulk('create', rows, { owner: 'U0CAROL', note: 'the kiosks' });
  await approveInDetails(t.workspace, t.bob, order.card);
  await t.advanceClockUntil(order.waitForResult('SUCCEEDED'));
  expect(JSON.stringify(requestsOf(t.service, order))).not.toMatch(/U0CAROL|the kiosks/);
  await until('the owner and note of the name', async () => {
    const answer = await readCommandReply(t.workspace, t.alice, '/domain name kiosk-2.rest');
    return /\*Owner\* <@U0CAROL>\n\*Note\* the kiosks/.test(answer);
  });
});

test('the form accepts pasted rows if Slack doesn’t support file inputs', async () => {
  t.workspace.faults.set({ method: 'views.open', kind: 'error', code: 'invalid_arguments', times: 1 });
  const form = await openForm(t.workspace, t.alice, '/domain bulk renew');
  expect(listFields(form)).toEqual(['task', 'rows', 'owner', 'note', 'reason', 'send_at']);
});

test('auth codes of a bulk transfer aren’t visible anywhere', async () => {
  const rows = ['1', '2', '3'].map(
    (n) => `transfer-${n}.rest,CANARY-AUTH-${n},101,102,103,ns1.example.net ns2.example.net`,
  );
  const order = await requestBulk('transfer', csv('name,auth,ownerc,adminc,techc,nameservers', rows));
  await t.advanceClockUntil(order.waitForState('PENDING'));
  expect(await downloadFile(order, /plan/)).toMatch(
    /1,transfer-1\.rest,,101,102,103,ns1.example.net ns2.example.net,\[secret\]/,
  );
  refuseNextRequest('transfer-2.rest', 'locked');
  await approveInDetails(t.workspace, t.bob, order.card);
  const reply = await t.advanceClockUntil(order.waitForResult('FAILED'));
  for (const { blocks } of [order.card, reply])
    expect(buttonsOf({ blocks }), 'buttons after the auth codes were deleted').not.toContain('order_retry');
  const result = await downloadFile(order, /result/);
  const { csv: audit } = await downloadAuditLog(t.workspace);
  const texts = [result, audit, t.getLog(), await t.dump(), JSON.stringify(t.workspace.messages(DOMAINS))];
  for (const text of texts) expect(text).not.toContain('CANARY-AUTH');
  expect(await waitForEphemeral(t.workspace, t.alice, 'the plan', () => true).then(textOf)).not.toContain(
    'CANARY',
  );
});
