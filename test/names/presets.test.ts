import { expect, test } from 'vitest';
import { type PresetKind, parsePreset } from '../../src/names/presets.ts';

const hosts = (count: number) => Array.from({ length: count }, (_, n) => `ns${n}.example.net`).join('\n');

test.each<[name: string, PresetKind, fields: Readonly<Record<string, string>>, expected: object]>([
  ['a', 'contacts', { ownerc: ' 1 ', techc: '22' }, { fields: { ownerc: '1', techc: '22' } }],
  [' a \n b ', 'contacts', { ownerc: '1' }, { name: 'a b', fields: { ownerc: '1' } }],
  ['a'.repeat(60), 'nameservers', { nameServers: hosts(13) }, { fields: { nameServers: hosts(13) } }],
  [
    'a',
    'nameservers',
    { nameServers: ' NS1.café.net,; ' },
    { fields: { nameServers: 'ns1.xn--caf-dma.net' } },
  ],
])('a valid preset is parsed: %j, %s, %j', (name, kind, fields, preset) => {
  expect(parsePreset({ name, kind, fields })).toMatchObject({ ok: true, preset });
});

test.each<[name: string, PresetKind, fields: Readonly<Record<string, string>>, issues: object]>([
  [' ', 'contacts', { ownerc: '1' }, { preset_name: 'missing_name' }],
  ['a'.repeat(61), 'contacts', { ownerc: '1' }, { preset_name: 'name_too_long' }],
  ['a', 'contacts', { ownerc: ' ' }, { ownerc: 'all_fields_empty' }],
  ['a', 'contacts', { ownerc: '1', techc: '01' }, { techc: 'not_an_id' }],
  ['a', 'nameservers', {}, { nameServers: 'all_fields_empty' }],
  ['a', 'nameservers', { nameServers: hosts(14) }, { nameServers: 'too_many' }],
  ['a', 'nameservers', { nameServers: 'ns1' }, { nameServers: { hostIssue: expect.anything() } }],
])('an invalid preset has issues: %j, %s, %j', (name, kind, fields, issues) => {
  expect(parsePreset({ name, kind, fields })).toEqual({ ok: false, issues });
});
