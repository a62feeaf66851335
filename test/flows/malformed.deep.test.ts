import type { Actor, JsonObject, View } from '@domain-steward/slack-workspace';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { COMMANDS } from '../../src/slack/index.ts';
import { parseDomainName } from '../../src/zones/names.ts';
import { checkName } from '../../src/zones/rules.ts';
import { DOMAINS, openForm, textOf, useTestDemo } from '../support/demo.ts';
import { orderOf } from '../support/orders.ts';
import { CONTACTS_AND_NAMESERVERS, linkTwoFactor, listFields } from '../support/people.ts';
import fc from '../support/properties.ts';

/* Any typed text gets a helpful reply, and nothing is ordered. */

const SEED = Number(process.env['SEED'] ?? 20_260_101);
const COMMAND_COUNT = 250;
const FORM_COUNT = 250;

const t = useTestDemo();

beforeAll(() => linkTwoFactor(t.workspace, t.carol));

/** Texts without a valid domain name or number of years. */
const MALFORMED_TEXTS: readonly string[] = [
  ...['cafe', 'cafe..rest', '.rest.', '-a.rest', 'a_b.rest', 'a b', 'кафе.rest', '💥.rest', 'a.b.rest'],
  ...['10.0.0.1', '0x7f.1', '::1', 'user@cafe.rest', 'http://', 'https:///x', 'xn--.rest', 'xn--a.rest'],
  ...['two', '1e1', '0', '-1', '11', '1.5', '1,5', '0x10', 'NaN', 'Infinity', '٣', '１', '9'.repeat(400)],
  ...['<@U0BOB>', '<!channel>', '<!here|x>', '<#C0DOMAINS>', '<http://a.rest|b.rest>', '`code`', '*bold*'],
  ...['caf\u0000e.rest', 'caf\u0007e.rest', 'cafe\u200b.rest', '\u202ecafe.rest', '\ud83d', '\ufffe.rest'],
  ...["';DROP TABLE orders;--", '{"name":"cafe.rest"}', '../../etc', '%00.rest', 'null'],
  ...[
    `${'a'.repeat(64)}.rest`,
    `${'a.'.repeat(130)}rest`,
    'a'.repeat(3_000),
    'ä'.repeat(1_500),
    '‮',
    '—',
    '--',
  ],
];

function hasNoName(text: string): boolean {
  return text.split(/[\s,;\u00a0]+/).every((part) => {
    const parsed = parseDomainName(part);
    return !parsed.ok || checkName(parsed.value).length > 0;
  });
}

const malformedText = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...MALFORMED_TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }).filter(hasNoName) },
);

/** Texts from libraries or bugs, which users should never see. */
const TECHNICAL_TEXT =
  /Invalid input|[Ee]xpected |received |\bundefined\b|\bNaN\b(?!\.rest)|\[object |Something went wrong|Too many commands|database does not answer|Error:|at .*\.ts/;

function expectReadable(reply: string, source: string): void {
  const quoted = /[“`][^”`]*[”`]/g;
  expect(reply.trim(), `the reply to ${source}`).not.toBe('');
  expect(reply.replace(quoted, ''), `the reply to ${source}`).not.toMatch(TECHNICAL_TEXT);
}

async function expectNothingOrdered(): Promise<void> {
  const cards = ['C0DOMAINS', 'C0GENERAL', 'D0ALICE', 'D0CAROL'].flatMap((id) =>
    t.workspace.messages(id).map(orderOf),
  );
  expect(cards.filter((order) => order !== undefined)).toEqual([]);
  expect(await t.dump()).not.toContain('public.orders ');
  const tasks = new Set(t.service.requests.map(({ task }) => task));
  expect([...tasks].filter((task) => task !== null && !/^(session|prereg|rdap)\./.test(task))).toEqual([]);
}

const COMMAND_NAMES = [...COMMANDS.keys()].filter((name) => name !== 'unlink');

test(`${COMMAND_COUNT} malformed commands get a helpful reply (SEED=${SEED})`, {
  timeout: 60_000,
}, async () => {
  const malformedLine = fc
    .tuple(
      fc.oneof(
        { weight: 12, arbitrary: fc.constantFrom(...COMMAND_NAMES) },
        { weight: 1, arbitrary: malformedText },
      ),
      fc.array(malformedText, { maxLength: 4 }),
      fc.option(malformedText, { nil: undefined }),
    )
    .map(([name, words, reason]) =>
      [name, ...words, ...(reason === undefined ? [] : ['--', reason])].join(' '),
    )
    .filter((text) => !text.trim().startsWith('unlink') && hasNoName(text));
  const lines = fc.sample(malformedLine, { seed: SEED, numRuns: COMMAND_COUNT });
  const expectReadableReplies = async (person: Actor, ownLines: readonly string[]) => {
    for (const text of ownLines)
      expectReadable(await sendAndReadReply(person, text), JSON.stringify(text).slice(0, 200));
  };
  await Promise.all(
    ['U0ALICE', 'U0CAROL'].map((id, index) =>
      expectReadableReplies(
        t.workspace.as(id),
        lines.filter((_, at) => at % 2 === index),
      ),
    ),
  );
  await expectNothingOrdered();
});

/** `cafe.rest` as written by phones, Macs, Slack and people in a hurry. */
const SPELLINGS: readonly string[] = [
  ...['CAFE.REST', 'Cafe.Rest', 'cafe.rest.', '  cafe.rest  ', '\u00a0cafe.rest', '\tcafe.rest'],
  ...[
    '"cafe.rest"',
    '“cafe.rest”',
    '„cafe.rest“',
    '«cafe.rest»',
    '‘cafe.rest’',
    "'cafe.rest'",
    '`cafe.rest`',
  ],
  ...['<http://cafe.rest|cafe.rest>', '<http://CAFE.rest|CAFE.rest>', '“<http://cafe.rest|cafe.rest>”'],
];

test('every spelling of a name gets the same reply', async () => {
  const readReply = async (line: string) =>
    (await sendAndReadReply(t.alice, line)).replace(/<!date\^[^>]*>/g, '');
  const expected = await readReply('name cafe.rest');
  for (const spelling of SPELLINGS)
    expect(await readReply(`name ${spelling}`), JSON.stringify(spelling)).toBe(expected);
});

/** Sends a command. @returns the reply, or the title of the form that opens */
async function sendAndReadReply(person: Actor, text: string): Promise<string> {
  const before = person.ephemerals().length;
  await person.command(DOMAINS, `/domain ${text}`);
  return t.workspace.waitFor(
    () => {
      const message = person.ephemerals()[before];
      if (message !== undefined) return textOf({ blocks: message.blocks });
      const view = person.openedViews().at(-1);
      if (view === undefined) return undefined;
      void person.close(view);
      return view.title?.text ?? '';
    },
    { what: `a reply to ${JSON.stringify(text).slice(0, 200)}` },
  );
}

/** Forms, each with a field that never accepts malformed text, so that no order can result. */
const FORMS_TO_SUBMIT: readonly {
  readonly command: string;
  readonly invalidField: string;
  readonly userId: string;
}[] = [
  { command: 'create', invalidField: 'name', userId: 'U0ALICE' },
  { command: 'transfer', invalidField: 'name', userId: 'U0ALICE' },
  { command: 'renew', invalidField: 'names', userId: 'U0ALICE' },
  { command: 'restore', invalidField: 'name', userId: 'U0ALICE' },
  { command: 'delete', invalidField: 'name', userId: 'U0ALICE' },
  { command: 'nameservers', invalidField: 'name', userId: 'U0ALICE' },
  { command: 'authcode', invalidField: 'name', userId: 'U0ALICE' },
  { command: 'owner-change', invalidField: 'name', userId: 'U0ALICE' },
  { command: 'redirect', invalidField: 'type', userId: 'U0ALICE' },
  { command: 'redirect', invalidField: 'mode', userId: 'U0CAROL' },
  { command: 'ssl-contact', invalidField: 'email', userId: 'U0ALICE' },
  { command: 'user', invalidField: 'defaultEmail', userId: 'U0CAROL' },
];

test(`${FORM_COUNT} malformed forms show errors at their fields (SEED=${SEED})`, {
  timeout: 60_000,
}, async () => {
  const runsPerForm = Math.ceil(FORM_COUNT / FORMS_TO_SUBMIT.length);
  for (const { command, invalidField, userId } of FORMS_TO_SUBMIT) {
    const actor = t.workspace.as(userId);
    const view = await openForm(t.workspace, actor, `/domain ${command}`);
    const fields = listFields(view);
    const filled = fc.record(
      Object.fromEntries(
        fields.map((field) => [
          field,
          field === invalidField
            ? malformedText.filter((text) => !text.includes('@'))
            : fc.option(malformedText, { nil: '' }),
        ]),
      ),
    );
    const samples = fc.sample(filled, { seed: SEED, numRuns: runsPerForm });
    await Promise.all(
      samples.map(async (values) => {
        const errors = await submitUnchecked(userId, view, values);
        const description = `form ${command} with ${JSON.stringify(values).slice(0, 300)}`;
        for (const [field, text] of Object.entries(errors)) {
          expect(fields, `the field of an error in ${description}`).toContain(field);
          expectReadable(text, description);
        }
        expect(Object.keys(errors), `errors of ${description}`).not.toEqual([]);
      }),
    );
    await actor.close(view);
  }
  await expectNothingOrdered();
});

const VALID_VALUES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  create: { name: 'fresh.rest', ...CONTACTS_AND_NAMESERVERS },
  transfer: { name: 'bistro.rest', auth: 'a-code', ...CONTACTS_AND_NAMESERVERS },
  renew: { names: 'cafe.rest', period: '2' },
  nameservers: { name: 'cafe.rest', nameServers: CONTACTS_AND_NAMESERVERS.nameServers },
  redirect: { source: 'www.cafe.rest', target: 'https://x.example/', type: 'DOMAIN', mode: 'HTTP' },
  'ssl-contact': { id: '501', city: 'Berlin' },
  user: { user: 'table-1', context: '4', defaultEmail: 'table-1@team.example' },
};

/** Values that are almost valid, or that a careless program would accept. */
const INVALID_VALUES: readonly (readonly [form: string, field: string, values: readonly string[]])[] = [
  [
    'create',
    'ownerc',
    ['1e3', '0x3e9', '1001.0', '-1001', '1001 1002', '１００１', '', 'Anna', '2147483648'],
  ],
  ['create', 'name', ['fresh', 'a.b.rest', 'fresh.rest x', 'fr\u0000esh.rest', 'http://', '']],
  [
    'create',
    'nameServers',
    ['ns1.dns.example', 'ns1.dns.example\nNS1.dns.example.', 'ns1.dns.example\nns_2', ''],
  ],
  ['transfer', 'auth', ['', '  ', 'a\u0000code', 'x'.repeat(1_001)]],
  ['renew', 'period', ['1e0', '0x2', '2.0', '1,5', 'two', '0', '11', '-2', '٢', '²', '2 3']],
  ['renew', 'names', ['', 'cafe', 'cafe.rest\nbad..rest', ',;']],
  [
    'nameservers',
    'nameServers',
    ['', '10.0.0.1 10.0.0.2', Array.from({ length: 8 }, (_, n) => `ns${n}.a.example`).join(' ')],
  ],
  ['redirect', 'source', ['', 'a b', 'caf\u0007e']],
  ['redirect', 'target', ['', 'nowhere', 'javascript:alert(1)', 'a b.example', 'x.example\u0000']],
  ['redirect', 'type', ['', 'FRAME']],
  ['redirect', 'mode', ['', 'http']],
  ['ssl-contact', 'id', ['', '  ', '5\u000001', '5\ud83d', 'x'.repeat(256)]],
  ['ssl-contact', 'country', ['DEU', 'D1', 'Ä']],
  ['ssl-contact', 'phone', ['030 5550100', '+0', 'call me']],
  ['ssl-contact', 'email', ['x', 'a@b', 'a@@b.example']],
  ['ssl-contact', 'city', ['Ber\u0000lin', 'x'.repeat(256), '\ud83d']],
  [
    'ssl-contact',
    'address',
    ['1 Street\u0007', Array.from({ length: 11 }, (_, n) => `line ${n}`).join('\n')],
  ],
  ['user', 'user', ['', 'a:b', 'ta\u0000ble']],
  ['user', 'context', ['', '4.0', '1e1', '0']],
  ['user', 'defaultEmail', ['', 'table', 'table@', 'a@b']],
  ['user', 'status', ['-1', '1.5', 'active']],
  ['user', 'language', ['eng', 'e', 'e1']],
  ['user', 'password', ['pass\u0000word', 'x'.repeat(1_001)]],
];

test.each(INVALID_VALUES)(
  'a form of /domain %s shows the error at its only invalid field, %s',
  async (name, field, values) => {
    const view = await openForm(t.workspace, t.alice, `/domain ${name}`);
    for (const value of values) {
      const errors = await submitUnchecked('U0ALICE', view, { ...VALID_VALUES[name], [field]: value });
      const description = `${name} with ${field} ${JSON.stringify(value).slice(0, 60)}`;
      expect(Object.keys(errors), description).toEqual([field]);
      expectReadable(Object.values(errors).join(' '), description);
    }
    await t.alice.close(view);
    await expectNothingOrdered();
  },
);

const errorAnswer = z.object({
  response_action: z.literal('errors'),
  errors: z.record(z.string(), z.string()),
});

/** Submits values without the checks of Slack's client. @returns the errors by field */
async function submitUnchecked(
  userId: string,
  view: View,
  values: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const state: JsonObject = {};
  for (const block of view.blocks.filter(({ type }) => type === 'input')) {
    const name = String(block['block_id']);
    const element = z.object({ type: z.string() }).parse(block['element']);
    const value = values[name] ?? '';
    const chosen = value === '' ? null : { text: { type: 'plain_text', text: value }, value };
    state[name] = {
      [name]:
        element.type === 'static_select'
          ? { type: element.type, selected_option: chosen }
          : element.type === 'checkboxes'
            ? { type: element.type, selected_options: chosen === null ? [] : [chosen] }
            : { type: element.type, value: value === '' ? null : value },
    };
  }
  const payload: JsonObject = {
    type: 'view_submission',
    user: { id: userId, team_id: t.workspace.teamId },
    team: { id: t.workspace.teamId },
    trigger_id: 'forged',
    view: { ...z.record(z.string(), z.json()).parse(view), state: { values: state } },
  };
  const answer = await t.workspace.redeliver({
    type: 'interactive',
    payload,
    sentAt: 0,
    transport: 'http',
    retryNum: 0,
    answer: { acked: true, ackMs: 0, status: 200 },
  });
  return errorAnswer.parse(answer.body, { error: () => `not errors at fields: ${JSON.stringify(answer)}` })
    .errors;
}
