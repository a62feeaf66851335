import { SANDBOX_ACCOUNTS } from '@domain-steward/sandbox-service';
import { expect, test } from 'vitest';
import { hintsFor } from '../../demo/page/form-hints.ts';
import {
  choicesOf,
  inputKey,
  inputsOf,
  optionsOf,
  stateValue,
} from '../../packages/slack-workspace/page/forms.ts';
import type { JsonObject } from '../../packages/slack-workspace/page/json.ts';
import { filled } from '../../packages/slack-workspace/src/forms.ts';
import type { InputValue, View } from '../../packages/slack-workspace/src/protocol.ts';
import { defaultSeed } from '../../packages/slack-workspace/src/seed.ts';
import { buildView } from '../../packages/slack-workspace/src/views.ts';
import { type Field, formView } from '../../src/slack/kit/form.ts';

function viewOf(name: string, fields: readonly Field[], values: Record<string, string> = {}): View {
  const view = formView({
    form: { name, title: 'T', submit: 'S', fields },
    origin: { channelId: 'C1' },
    values,
  });
  const payload: JsonObject = JSON.parse(JSON.stringify(view));
  const identity = {
    id: 'V1',
    hash: '1',
    team_id: 'T1',
    app_id: 'A1',
    bot_id: 'B1',
    root_view_id: 'V1',
    previous_view_id: null,
  };
  return buildView(payload, identity, undefined);
}

const options = [
  { value: 'a', text: 'A' },
  { value: 'b', text: 'B' },
];
const FIELDS: readonly Field[] = [
  { name: 'name', label: 'Name', kind: 'text' },
  { name: 'one', label: 'One', kind: 'choice', options },
  { name: 'some', label: 'Some', kind: 'choices', options },
  { name: 'picks', label: 'Picks', kind: 'picks', options },
];

test.each<[string, InputValue]>([
  ['name', 'cafe.rest'],
  ['one', 'b'],
  ['some', ['a', 'b']],
  ['picks', ['b']],
])('reads the input of %s from the state', (name, value) => {
  const view = viewOf('create', FIELDS);
  const place = inputsOf(view).find(({ blockId }) => blockId === name);
  if (place === undefined) throw new Error(`the form has no input ${name}`);
  const empty = stateValue(view.state.values, place);
  expect(empty === null || (Array.isArray(empty) && empty.length === 0)).toBe(true);
  const state = { [place.blockId]: { [place.actionId]: filled(place, value) } };
  expect(stateValue(state, place)).toEqual(value);
});

test('starts an input with its initial value', () => {
  const view = viewOf('create', FIELDS, { name: 'x', one: 'a', some: 'a' });
  const values = inputsOf(view).map((place) => stateValue(view.state.values, place));
  expect(values).toEqual(['x', 'a', ['a'], []]);
});

test('treats an input as new when its type changes', () => {
  const [before] = inputsOf(viewOf('f', [{ name: 'mode', label: 'M', kind: 'text' }]));
  const [after] = inputsOf(viewOf('f', [{ name: 'mode', label: 'M', kind: 'choice', options }]));
  expect(before && after && inputKey(before) === inputKey(after)).toBe(false);
});

test('reads options', () => {
  const [place] = inputsOf(viewOf('f', [{ name: 'mode', label: 'M', kind: 'choice', options }]));
  expect(place && optionsOf(place.element)).toEqual(options);
});

const hints = {
  accounts: SANDBOX_ACCOUNTS,
  transfer: { name: 'bistro.rest', authCode: 'code' },
  contacts: [1001, 1002],
  nameServers: ['ns1.example', 'ns2.example'],
};

test.each([
  ['password', 'bob', 'bob, context 4', { user: 'bob', context: '4' }],
  ['two_factor', 'alice', 'tina, context 4', { user: 'tina', totpSecret: SANDBOX_ACCOUNTS.tina.totpSecret }],
  ['trusted_application', 'alice', 'steward-sandbox', { application: 'steward-sandbox' }],
])('offers accounts for the login method in %s', (method, person, text, values) => {
  const methods = ['password', 'two_factor', 'trusted_application'].map((value) => ({ value, text: value }));
  const view = viewOf('link', [{ name: 'method', label: 'M', kind: 'choice', options: methods }], { method });
  const [first, ...others] = hintsFor(view, hints, person);
  expect(first).toMatchObject({ text, values });
  expect(others.every((other) => other.text !== text)).toBe(true);
});

test('offers values for a transfer and a registration', () => {
  expect(hintsFor(viewOf('transfer', []), hints, 'alice')[0]?.values).toEqual({
    name: 'bistro.rest',
    auth: 'code',
    ownerc: '1001',
    adminc: '1001',
    techc: '1001',
    nameServers: 'ns1.example\nns2.example',
  });
  expect(hintsFor(viewOf('create', []), hints, 'alice')).toHaveLength(1);
  expect(hintsFor(viewOf('renew', []), hints, 'alice')).toEqual([]);
});

test.each([
  ['people', ['U0BOB', 'U0ADA']],
  ['channel', 'C0DOMAINS'],
] as const)('a picker of %s shows the earlier choice', (kind, value) => {
  const picker: Field = { name: 'picker', label: 'L', kind };
  const built = viewOf('settings', [picker], {});
  const [place] = inputsOf(built);
  if (place === undefined) throw new Error('no picker');
  const state = { picker: { picker: filled(place, typeof value === 'string' ? value : [...value]) } };
  expect(stateValue(state, place)).toEqual(value);
});

test('pickers offer the people and the channels of the workspace', () => {
  const { users, channels } = defaultSeed();
  const bot = users.slice(0, 1).map((user) => ({ ...user, id: 'UBOT', is_bot: true }));
  const workspace = { users: [...users, ...bot], channels };
  const people = choicesOf({ type: 'multi_users_select' }, workspace);
  expect(people).toContainEqual({ value: 'U0BOB', text: 'Bob' });
  expect(people.map(({ value }) => value)).not.toContain('UBOT');
  const offered = choicesOf({ type: 'conversations_select' }, workspace);
  expect(offered).toContainEqual({ value: 'C0DOMAINS', text: '#domains' });
  expect(offered.map(({ value }) => value)).not.toContain('D0ALICEBOB');
});
