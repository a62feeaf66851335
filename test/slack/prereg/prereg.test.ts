import { expect, it } from 'vitest';
import { preregRecords } from '../../../src/slack/prereg/prereg.view.ts';
import { expectValidView } from '../kit/limits.ts';

/* The view of a preregistration has every field that the service returned, documented or not. */

const NOW = new Date('2026-11-25T12:00:00Z');

function renderRecord(record: Readonly<Record<string, unknown>>): string {
  const blocks = preregRecords('cafe.rest', [{ name: 'cafe.rest', ...record }], NOW);
  expectValidView(
    { type: 'modal', title: { type: 'plain_text', text: 'Record' }, blocks: [...blocks] },
    'modal',
  );
  return JSON.stringify(blocks);
}

it.each<[what: string, record: Readonly<Record<string, unknown>>, expected: readonly string[]]>([
  [
    'undocumented fields of nameservers',
    { nameServers: [{ name: 'ns1.dns.example', ip: '198.51.100.53', ttl: 60 }, { name: 'ns2.dns.example' }] },
    ['ns1.dns.example', 'ns2.dns.example', 'Nameservers: 1.ip', '198.51.100.53', 'Nameservers: 1.ttl', '60'],
  ],
  [
    'undocumented fields of contacts',
    { adminc: { id: 17, email: 'kim@team.example', handle: 'KIM-1' } },
    ['17', 'Admin contact: email', 'kim@team.example', 'Admin contact: handle', 'KIM-1'],
  ],
  [
    'undocumented fields of the phases, next to documented ones',
    { preregConfig: { confirmation_start: '2027-01-01 00:00:00', wave: 3, rules: { fee: 'none' } } },
    ['1 Jan 2027, 00:00', 'Phases: wave', '3', 'Phases: rules.fee', 'none'],
  ],
  ['fields of the phases if none is documented', { preregConfig: { wave: 3 } }, ['wave', '3']],
  [
    'nameservers as a list of texts',
    { nameServers: ['ns1.dns.example', 'ns2.dns.example'] },
    ['ns1.dns.example', 'ns2.dns.example'],
  ],
  ['nameservers as one text', { nameServers: 'ns1.dns.example' }, ['ns1.dns.example']],
  [
    'a nameserver’s name that is an object',
    { nameServers: [{ name: { host: 'ns1.dns.example', port: 53 } }] },
    ['ns1.dns.example', '53'],
  ],
  ['a contact that is a text', { techc: 'KIM-1' }, ['KIM-1']],
  ['a contact’s ID that is an object', { techc: { id: { local: 5 } } }, ['Tech contact: id.local', '5']],
  [
    'a phase’s time that is an object',
    { preregConfig: { period_end: { date: '2027-03-01', zone: 'UTC' }, period_start: 1_800_000_000 } },
    ['2027-03-01', 'UTC', '1800000000'],
  ],
  ['phases that are a text', { preregConfig: 'closed' }, ['closed']],
  ['a status that is a list', { status: ['open', 'disputed'] }, ['open', 'disputed']],
])('the view shows %s', (_what, record, expected) => {
  const text = renderRecord(record);
  for (const part of expected) expect(text).toContain(part);
});

it.each([
  ['phases that are a text', { preregConfig: 'closed' }, 'closed', '*Phases*'],
  ['phases without a documented field', { preregConfig: { wave: 'closed' } }, 'closed', '*Phases: wave*'],
])('the view shows %s once, under their name', (_what, record, value, name) => {
  expect(renderRecord(record).split(value)).toHaveLength(2);
  expect(renderRecord(record)).toContain(name);
});
