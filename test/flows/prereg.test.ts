import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import type { Actor, Message } from '@domain-steward/slack-workspace';
import { afterEach, beforeAll, expect, test } from 'vitest';
import {
  buttonsOf,
  DOMAINS,
  link,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  until,
  useTestDemo,
} from '../support/demo.ts';
import { linkTwoFactor, listFields, waitForEphemeral } from '../support/people.ts';

/* The search for preregistrations, which changes nothing. Only the requester sees its results. */

const t = useTestDemo();

beforeAll(() => linkTwoFactor(t.workspace, t.carol));
afterEach(() => t.service.faults.clear());

const listSearchRequests = () => t.service.requestsFor({ task: 'prereg.search' });
const waitForPage = (person: Actor, range: string): Promise<Message> =>
  waitForEphemeral(t.workspace, person, `the preregistrations ${range}`, ({ text }) => text.includes(range));

test('a name in the command is searched immediately, with or without its TLD', async () => {
  const reply = await readCommandReply(t.workspace, t.alice, '/domain prereg Table-007.rest');
  expect(reply).toMatch(/table-007\.rest.*pending.*sunrise1/s);
  expect(listSearchRequests().at(-1)).toMatchObject({
    path: '/v1/domainPrereg/_search',
    query: { ctid: [expect.stringMatching(/^[0-9a-f-]{36}$/)] },
    body: {
      view: { children: true, offset: 0, limit: 20 },
      filters: [
        { key: 'sld', operator: 'EQUAL', value: 'table-007' },
        { key: 'tld', operator: 'EQUAL', value: 'rest' },
      ],
    },
  });
  await readCommandReply(t.workspace, t.alice, '/domain prereg table-008');
  expect(listSearchRequests().at(-1)?.body).toMatchObject({
    filters: [{ key: 'sld', operator: 'EQUAL', value: 'table-008' }],
  });
  const emptyReply = await readCommandReply(t.workspace, t.alice, '/domain prereg nothing');
  expect(emptyReply).toContain('No preregistrations for the name nothing');
  expect(t.workspace.messages(DOMAINS), 'messages that others can see').toEqual([]);
});

test('the form requests extra keys, and results are paged in one message', async () => {
  const view = await openForm(t.workspace, t.alice, '/domain prereg');
  expect(listFields(view)).toEqual([
    ...['sld', 'tld', 'subtld', 'id', 'prereg_config.confirmation_start', 'prereg_config.confirmation_end'],
    ...['prereg_config.period_start', 'prereg_config.period_end', 'operator', 'order', 'order_mode'],
    ...['children', 'limit', 'keys', 'key'],
  ]);
  expect(textOf(view)).toContain('Uses the service’s JSON interface.');
  expect(await t.alice.submit(view, { tld: 'rest', keys: ['tmch_mark', 'nsentry'] })).toEqual({
    outcome: 'closed',
  });
  const firstPage = await waitForPage(t.alice, '1–20 of 100');
  expect(textOf(firstPage)).toMatch(/mark-9001.*ttl: 3600/s);
  expect(buttonsOf(firstPage), 'buttons of the first page').toEqual(['prereg_open', 'prereg_next']);
  expect(textOf(firstPage)).toContain('for exact matches (EQUAL).');
  expect(listSearchRequests().at(-1)).toMatchObject({ query: { 'keys[]': ['tmch_mark', 'nsentry'] } });

  await t.alice.click(firstPage, 'prereg_next');
  const secondPage = await waitForPage(t.alice, '21–40 of 100');
  expect(secondPage.ts, 'the message with the second page').toBe(firstPage.ts);
  expect(buttonsOf(secondPage)).toEqual(['prereg_open', 'prereg_previous', 'prereg_next']);
  expect(listSearchRequests().at(-1)).toMatchObject({
    query: { 'keys[]': ['tmch_mark', 'nsentry'] },
    body: { view: { children: true, offset: 20, limit: 20 }, filters: [{ key: 'tld', value: 'rest' }] },
  });
  await t.alice.click(secondPage, 'prereg_previous');
  await waitForPage(t.alice, '1–20 of 100');
});

test('a time with a UTC offset is sent unchanged over JSON, but not over XML', async () => {
  const view = await openForm(t.workspace, t.alice, '/domain prereg');
  const periodStart = { 'prereg_config.period_start': '2027-03-01T12:00:00+01:00' };
  expect(await t.alice.submit(view, { ...periodStart, operator: 'like' })).toMatchObject({
    outcome: 'errors',
    errors: { 'prereg_config.period_start': expect.stringContaining('documents no UTC offset') },
  });
  expect(await t.alice.submit(view, { ...periodStart, operator: 'EQUAL' })).toMatchObject({
    outcome: 'closed',
  });
  await until('the search', () => JSON.stringify(listSearchRequests().at(-1)?.body).includes('+01:00'));
  expect(listSearchRequests().at(-1)?.body).toMatchObject({
    filters: [{ key: 'prereg_config.period_start', operator: 'EQUAL', value: '2027-03-01T12:00:00+01:00' }],
  });
});

test('a search over XML is sent in the documented format', async () => {
  const GUESSED_FORMAT_NOTE = 'It shows only one filter at a time';
  await t.carol.command(DOMAINS, '/domain prereg table-00%');
  expect(textOf(await waitForPage(t.carol, 'table-00%')), 'the reply for one filter').not.toContain(
    GUESSED_FORMAT_NOTE,
  );
  await t.carol.command(DOMAINS, '/domain prereg table-00%.rest');
  expect(
    textOf(await waitForPage(t.carol, 'for table-00%.rest: 1–9 of 9')),
    'the reply for two filters',
  ).toContain(GUESSED_FORMAT_NOTE);
  expect(listSearchRequests().at(-1)?.body).toContain(
    '<where><and><key>sld</key><operator>like</operator><value>table-00%</value></and><and><key>tld</key><operator>like</operator><value>rest</value></and></where>',
  );
});

test('a password account’s search uses XML if its filters, order or keys need it', async () => {
  const view = await openForm(t.workspace, t.alice, '/domain prereg');
  await t.alice.submit(view, {
    tld: 'rest',
    operator: 'like',
    order: 'created',
    order_mode: 'asc',
    limit: '2',
    keys: ['ownerc'],
    key: 'zonec',
    'prereg_config.period_end': '20%',
  });
  const page = await waitForPage(t.alice, '1–2 of 100');
  expect(listSearchRequests().at(-1)).toMatchObject({
    interface: 'xml',
    body: expect.stringMatching(
      /<view><children>true<\/children><offset>0<\/offset><limit>2<\/limit><\/view><where>.*<key>prereg_config.period_end<\/key><operator>like<\/operator><value>20%<\/value>.*<key>ownerc<\/key><key>zonec<\/key><order><key>created<\/key><mode>asc<\/mode><\/order>/,
    ),
  });
  for (const column of ['Owner contact', 'Zone contact', 'Updated by', 'Nameservers', 'Phase period']) {
    expect(textOf(page), column).toContain(column);
  }
  expect(textOf(page), 'formatted times').toMatch(
    /\d+ \w{3,4} \d{4}, \d\d:\d\d – \d+ \w{3,4} \d{4}, \d\d:\d\d/,
  );
  expect(textOf(page)).toContain(
    'The documentation doesn’t say how “like” compares values or which wildcards it supports',
  );
  await t.alice.click(page, 'prereg_next');
  await waitForPage(t.alice, '3–4 of 100');
  expect(listSearchRequests().at(-1)?.body).toMatch(/<offset>2<.*<key>zonec<.*<order>/);
});

test('children, an id and a second-level TLD are searched in the documented format', async () => {
  const view = await openForm(t.workspace, t.alice, '/domain prereg');
  await t.alice.submit(view, { id: '9001', children: [], operator: 'EQUAL' });
  await waitForEphemeral(t.workspace, t.alice, 'the record', ({ text }) =>
    text.includes('with ID 9001: 1–1 of 1'),
  );
  expect(listSearchRequests().at(-1)?.body).toEqual({
    view: { children: false, offset: 0, limit: 20 },
    filters: [{ key: 'id', operator: 'EQUAL', value: 9001 }],
  });
  const formForPaddedId = await openForm(t.workspace, t.alice, '/domain prereg');
  await t.alice.submit(formForPaddedId, { id: '007' });
  await waitForEphemeral(t.workspace, t.alice, 'no record', ({ text }) => text.includes('with ID 007'));
  expect(listSearchRequests().at(-1)?.body).toMatchObject({ filters: [{ key: 'id', value: '007' }] });
  await readCommandReply(t.workspace, t.alice, '/domain prereg cafe.co.uk');
  expect(listSearchRequests().at(-1)?.body).toMatchObject({
    filters: [
      { key: 'sld', value: 'cafe' },
      { key: 'subtld', value: 'co.uk' },
    ],
  });
});

test('a preregistration is shown in full, with its phases and when they end', async () => {
  await t.alice.command(DOMAINS, '/domain prereg table-003.rest');
  const singleResult = await waitForPage(t.alice, 'for table-003.rest: 1–1 of 1');
  const record = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.click(singleResult, 'prereg_open'),
  );
  const text = textOf(record);
  expect(text).toMatch(
    /\*Confirmation\*: from \d+ \w{3,4} \d{4}, .* until \d+ \w{3,4} \d{4}, .* \((?:ended|ends)/,
  );
  expect(text).toMatch(/\*Phase period\*: from /);
  for (const label of [
    'Updated by',
    'Owner contact',
    'Admin contact',
    'Tech contact',
    'Zone contact',
    'Confirmed',
  ]) {
    expect(text, label).toContain(label);
  }
  expect(text).toMatch(/mark-9003/);
  t.alice.close(record);

  await readCommandReply(t.workspace, t.alice, '/domain prereg .example');
  const resultList = await waitForPage(t.alice, '1–20 of 20');
  const chosenRecord = await performAndWaitForView(t.workspace, t.alice, () =>
    t.alice.click(resultList, 'prereg_open', { value: 'table-105.example' }),
  );
  expect(textOf(chosenRecord)).toContain('*table-105.example*');
  t.alice.close(chosenRecord);
});

test('% and * aren’t sent as wildcards', async () => {
  const before = listSearchRequests().length;
  expect(await readCommandReply(t.workspace, t.alice, '/domain prereg table-00%')).toMatch(
    /only finds exact matches.*choose “like”/s,
  );
  const view = await openForm(t.workspace, t.alice, '/domain prereg');
  expect(await t.alice.submit(view, { sld: 'table*', limit: '101' })).toMatchObject({
    errors: {
      sld: expect.stringContaining('doesn’t support the wildcards % and *'),
      limit: expect.stringContaining('1 to 100'),
    },
  });
  expect(
    await t.alice.submit(view, { sld: 'table', limit: '', operator: 'EQUAL', order: 'name' }),
  ).toMatchObject({
    errors: { operator: expect.stringMatching(/EQUAL needs the JSON interface, and a sort order needs XML/) },
  });
  t.alice.close(view);
  expect(listSearchRequests()).toHaveLength(before);
});

test.each(['a b', 'caf\u0007e.rest', '<script>', 'a..b', '-.-', `${'x'.repeat(64)}.rest`])(
  'an invalid name is rejected without a search: %j',
  async (text) => {
    const before = listSearchRequests().length;
    const reply = await readCommandReply(t.workspace, t.alice, `/domain prereg ${text}`);
    expect(reply).toContain('Enter one name, such as');
    expect(listSearchRequests()).toHaveLength(before);
  },
);

test('EQUAL is never sent as “like”, even if the active account changes', async () => {
  await link(t.workspace, t.carol, SANDBOX_ACCOUNTS.aliceDemoSystem);
  const view = await openForm(t.workspace, t.carol, '/domain prereg');
  await readCommandReply(t.workspace, t.carol, `/domain use ${SANDBOX_ACCOUNTS.tina.context}`);
  const before = listSearchRequests().length;
  const reply = await performAndReadReply(t.workspace, t.carol, () =>
    t.carol.submit(view, { sld: 'table', operator: 'EQUAL' }),
  );
  expect(reply).toContain('This search can’t be sent');
  expect(listSearchRequests()).toHaveLength(before);
});

test('on a slow service the form shows “Checking”, and the result is posted in the channel', async () => {
  t.service.faults.set({ kind: 'slow', delayMs: 2_400, times: 1, match: { task: 'prereg.search' } });
  const view = await openForm(t.workspace, t.alice, '/domain prereg');
  const result = await t.alice.submit(view, { sld: 'table-020' });
  expect(result).toMatchObject({ outcome: 'updated' });
  // The form for linking may still be open if the response to it was late.
  const openViewsText = () =>
    t.alice
      .openedViews()
      .map((each) => textOf(each))
      .join('\n');
  expect(openViewsText()).toContain('Checking');
  const resultMessage = await waitForPage(t.alice, 'table-020');
  expect(textOf(resultMessage)).toContain('table-020.rest');
  await t.workspace.waitFor(() => (openViewsText().includes('in the channel') ? true : undefined), {
    what: 'the view to show where the result is',
  });
});

test.each([
  [
    'refused',
    { kind: 'refuse', code: 'EF01002', text: 'no <!channel> today' },
    /refused this search.*EF01002 no &lt;!channel&gt; today/s,
  ],
  ['busy', { kind: 'status_429', retryAfter: 60 }, /busy/],
  ['broken', { kind: 'html' }, /response couldn’t be read.*Client transaction ID `[0-9a-f-]{36}`/],
] as const)('a service that is %s is reported with an explanation', async (_what, fault, expectedReply) => {
  t.service.faults.set({ ...fault, match: { task: 'prereg.search' } });
  expect(await readCommandReply(t.workspace, t.alice, '/domain prereg table-001')).toMatch(expectedReply);
});

test('a forged button value is rejected without a search', async () => {
  await readCommandReply(t.workspace, t.alice, '/domain prereg .rest');
  await t.alice.click(await waitForPage(t.alice, '1–20 of 100'), 'prereg_next');
  await waitForPage(t.alice, '21–40 of 100');
  const click = t.workspace.deliveries.findLast(({ payload }) =>
    JSON.stringify(payload).includes('prereg_next'),
  );
  if (click === undefined) throw new Error('no click was delivered');
  const before = listSearchRequests().length;
  for (const value of ['', '{', '{"keys":[],"offset":-1}', '{"keys":["password"],"offset":0}']) {
    const actions = [{ type: 'button', action_id: 'prereg_next', block_id: 'b', value, action_ts: '2.1' }];
    const { response_url: _one, ...payload } = click.payload;
    const reply = await performAndReadReply(t.workspace, t.alice, () =>
      t.workspace.redeliver({ ...click, payload: { ...payload, actions } }),
    );
    expect(reply).toContain('no longer available');
  }
  expect(listSearchRequests()).toHaveLength(before);
});
