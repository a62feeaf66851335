import { describe, expect, it } from 'vitest';
import { getVisibleText } from '../../src/slack/kit/blocks.ts';
import { rulesMessage, zonesMessage } from '../../src/slack/names/rules.view.ts';
import { preregPage } from '../../src/slack/prereg/prereg.view.ts';
import { restZone } from '../../src/zones/rest.ts';
import { findZoneProfile } from '../../src/zones/rules.ts';
import { renderText } from '../support/rendered.ts';
import { expectValidMessage } from './kit/limits.ts';

const NOW = new Date('2027-06-14T09:00:00Z');
const AT = { now: NOW, timeZone: 'UTC' };

describe('the rules message', () => {
  it('describes a documented zone', () => {
    const message = rulesMessage(findZoneProfile('rest'), 'rest', undefined, AT);
    expectValidMessage(message);
    expect(renderText(message)).toMatchSnapshot();
  });

  it('describes an undocumented zone', () => {
    const message = rulesMessage(findZoneProfile('example'), 'example', undefined, AT);
    expectValidMessage(message);
    expect(renderText(message)).toMatchSnapshot();
  });

  it('describes a name in its auto-renew grace period, with its dates', () => {
    const name = {
      name: 'cafe.rest',
      issues: [],
      dates: {
        expiresAt: new Date('2027-06-04T00:00:00Z'),
        source: 'rdap' as const,
        expiryDay: '2027-06-04',
        deletedAt: undefined,
      },
    };
    const message = rulesMessage(findZoneProfile('cafe.rest'), 'rest', name, AT);
    expectValidMessage(message);
    expect(renderText(message)).toMatchSnapshot();
  });

  it('lists the documented zones', () => {
    const message = zonesMessage([restZone]);
    expectValidMessage(message);
    expect(renderText(message)).toMatchSnapshot();
  });
});

describe('a page of preregistrations', () => {
  const query = {
    filters: { sld: 'cafe', tld: 'rest' },
    children: true,
    keys: ['tmch_mark'],
    offset: 0,
    limit: 20,
  };

  it('says if nothing was found', () => {
    const message = preregPage(query, { records: [], summary: 0 }, 'json');
    expectValidMessage(message);
    expect(renderText(message)).toMatchSnapshot();
  });

  it.each([
    ['over JSON', { owner: { user: 'kim', context: 4 }, techc: { id: 7, handle: 'H7' }, recommended: false }],
    ['over XML', { owner: { user: 'kim', context: '4' }, techc: { id: '7' }, recommended: 'false' }],
    ['with bare values', { owner: 'kim, 4', techc: 7, recommended: 0 }],
  ])('shows the same for a record %s', (_name, given) => {
    const nameServers = [{ name: 'ns1.a.rest' }, 'ns2.a.rest'];
    const preregConfig = { confirmationStart: '2027-03-01', confirmation_end: '2027-04-01' };
    const record = { name: 'cafe.rest', ...given, nameServers, preregConfig };
    const { blocks } = preregPage({ ...query, keys: [] }, { records: [record] }, 'json');
    const shown = ['cafe.rest', 'kim, 4', '7', 'ns1.a.rest, ns2.a.rest', '1 Mar 2027 – 1 Apr 2027', 'no'];
    expect(getVisibleText(blocks.filter(({ type }) => type === 'data_table')).split('\n')).toEqual([
      ...['Name', 'Owner', 'Tech contact', 'Nameservers', 'Confirmation', 'Recommended'],
      ...shown,
    ]);
  });

  it('stays within Slack’s limits with the longest names', () => {
    const records = Array.from({ length: 20 }, (_, index) => ({
      name: `${'x'.repeat(60)}${index}.${'y'.repeat(63)}.${'z'.repeat(63)}.rest`,
      status: 'PENDING',
      phase: 'sunrise1',
    }));
    expectValidMessage(preregPage(query, { records, summary: 120 }, 'json'));
  });
});
