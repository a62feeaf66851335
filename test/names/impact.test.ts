import { describe, expect, test } from 'vitest';
import { type Dependents, findDependents } from '../../src/names/dependents.ts';
import {
  createFact,
  createUnknownFact,
  type Fact,
  type FactName,
  type Facts,
} from '../../src/names/facts.ts';
import {
  assessImpact,
  compareImpacts,
  IMPACT_TASKS,
  type Impact,
  type ImpactInput,
  type ImpactItem,
  type ImpactTask,
  listFindingKeys,
  MAX_CURRENT_FACT_AGE_MS,
  markStaleImpact,
  needsTypedName,
  SEVERITIES,
} from '../../src/names/impact.ts';
import type { NameserverCheck } from '../../src/names/nameserver-check.ts';
import { impactLines } from '../../src/slack/orders/impact.view.ts';
import fc from '../support/properties.ts';

const ABSENT: Fact = { state: 'absent' };
const EMPTY: Facts = {
  a: ABSENT,
  aaaa: ABSENT,
  www_a: ABSENT,
  www_aaaa: ABSENT,
  mx: ABSENT,
  ds: ABSENT,
  statuses: ABSENT,
};
const IN_USE: Facts = {
  ...EMPTY,
  a: createFact(['198.51.100.7']),
  mx: createFact(['10 mail.example', '20 b.mail.example']),
};
const NO_DEPENDENTS: Dependents = {
  nameservers: { count: 0, privateCount: 0, names: [] },
  mail: { count: 0, privateCount: 0, names: [] },
  redirects: { count: 0, privateCount: 0, names: [] },
};
const NOW = new Date('2027-06-14T12:00:00Z');
const READY_NAMESERVER: NameserverCheck = {
  host: 'ns1.new.example',
  state: 'authoritative',
  differences: [],
  uncomparedFacts: [],
  ds: 'unsigned',
};

function assess(task: ImpactTask, changes: Partial<ImpactInput> = {}) {
  return assessImpact({
    task,
    seenAt: NOW,
    facts: EMPTY,
    earlierFacts: {},
    dependents: NO_DEPENDENTS,
    nameserverChecks: [READY_NAMESERVER],
    ...changes,
  });
}

function listCodes(items: readonly ImpactItem[]): string[] {
  return items.map(({ code, severity }) => `${severity} ${code}`);
}

describe('the use of a name', () => {
  test.each<[ImpactTask, string]>([
    ['delete', 'stops'],
    ['lapse', 'stops'],
    ['nameservers', 'at_stake'],
    ['owner-change', 'at_stake'],
    ['authcode', 'at_stake'],
  ])('is listed for %s with the severity %s', (task, severity) => {
    const { items, isInUse } = assess(task, { facts: IN_USE });
    expect(isInUse).toBe('yes');
    expect(items).toContainEqual({ code: 'mail', severity, servers: ['mail.example', 'b.mail.example'] });
    expect(items).toContainEqual({
      code: 'website',
      severity,
      addresses: ['198.51.100.7'],
      hosts: ['@'],
    });
  });

  test('requires an address or a mail server, and a null MX is none', () => {
    expect(assess('delete')).toMatchObject({ items: [], isInUse: 'no' });
    expect(assess('delete', { facts: { ...EMPTY, mx: createFact(['0 .']) } })).toMatchObject({
      items: [],
      isInUse: 'no',
    });
    expect(assess('delete', { facts: { ...EMPTY, www_aaaa: createFact(['2001:db8::1']) } }).isInUse).toBe(
      'yes',
    );
  });

  test('is unknown if a lookup failed', () => {
    const facts = {
      ...EMPTY,
      mx: createUnknownFact('timeout'),
      a: createUnknownFact('timeout'),
      aaaa: createUnknownFact('refused'),
    };
    const { items, isInUse } = assess('delete', { facts });
    expect(items).toEqual([
      { code: 'unseen', severity: 'unseen', reason: 'timeout', facts: ['a', 'mx'] },
      { code: 'unseen', severity: 'unseen', reason: 'refused', facts: ['aaaa'] },
    ]);
    expect(isInUse).toBe('unknown');
    expect(assess('delete', { facts: {} })).toMatchObject({
      isInUse: 'unknown',
      items: [{ reason: 'stale', facts: ['a', 'aaaa', 'www_a', 'www_aaaa', 'mx'] }],
    });
    expect(assess('delete', { dependents: undefined })).toMatchObject({
      isInUse: 'unknown',
      items: [{ code: 'dependents_unseen', severity: 'unseen' }],
    });
  });
});

describe('names that depend on another one', () => {
  const newName = (name: string, changes: object = {}) => ({
    name,
    nameServers: [],
    mailServers: [],
    redirectTargets: [],
    isPrivate: false,
    ...changes,
  });

  test('are found by nameservers, mail servers and redirects that use it', () => {
    expect(
      findDependents('cafe.rest', [
        newName('cafe.rest', { nameServers: ['ns1.cafe.rest'] }),
        newName('one.rest', {
          nameServers: ['ns1.cafe.rest', 'ns2.else.example'],
          mailServers: ['cafe.rest'],
        }),
        newName('two.rest', {
          nameServers: ['ns1.notcafe.rest'],
          mailServers: ['mx.cafe.rest.evil.example'],
        }),
        newName('three.rest', { redirectTargets: ['https://WWW.cafe.rest/menu'] }),
        newName('four.rest', { redirectTargets: ['anna@cafe.rest'] }),
        newName('five.rest', { redirectTargets: ['cafe.rest/menu?x=@elsewhere.example', '%%%'] }),
        newName('dot.rest', { redirectTargets: ['http://www.cafe.rest./menu'] }),
        newName('six.rest', { redirectTargets: ['https://else.example/cafe.rest'] }),
      ]),
    ).toEqual({
      nameservers: { count: 1, privateCount: 0, names: ['one.rest'] },
      mail: { count: 1, privateCount: 0, names: ['one.rest'] },
      redirects: { count: 4, privateCount: 0, names: ['three.rest', 'four.rest', 'five.rest', 'dot.rest'] },
    });
    for (const target of ['https://CAFÉ.rest/', 'anna@café.rest', 'caf%C3%A9.rest']) {
      expect(
        findDependents('xn--caf-dma.rest', [newName('one.rest', { redirectTargets: [target] })]),
      ).toMatchObject({ redirects: { count: 1 } });
    }
  });

  test('are counted but not named if only private orders mention them', () => {
    const newRedirect = (name: string, isPrivate: boolean) =>
      newName(name, { redirectTargets: ['cafe.rest'], isPrivate });
    const { redirects } = findDependents('cafe.rest', [
      newRedirect('both.rest', true),
      newRedirect('both.rest', false),
      newRedirect('secret.rest', true),
      newRedirect('open.rest', false),
      newRedirect('open.rest', true),
    ]);
    expect(redirects).toEqual({ count: 3, privateCount: 1, names: ['both.rest', 'open.rest'] });
    const render = (dependents: Partial<Dependents>, task: ImpactTask) =>
      impactLines(assess(task, { dependents: { ...NO_DEPENDENTS, ...dependents } })).join('\n');
    expect(render({ redirects }, 'delete')).toContain(
      'both.rest, open.rest will break: they redirect to this name; 1 redirect of a private order will break',
    );
    const privateOnly = { count: 2, privateCount: 2, names: [] };
    expect(render({ redirects: privateOnly }, 'authcode')).toContain(
      '2 redirects of private orders point to it',
    );
    // A public redirect that becomes a private one is a change.
    const publicOnly = { count: 2, privateCount: 0, names: [] };
    const listKeys = (redirects: Dependents['redirects']) =>
      listFindingKeys(assess('delete', { dependents: { ...NO_DEPENDENTS, redirects } }));
    expect(listKeys(privateOnly)).not.toEqual(listKeys(publicOnly));
  });
});

describe('new nameservers', () => {
  test.each<[Partial<NameserverCheck>, string, string]>([
    [{ state: 'not_authoritative' }, 'stops new_nameservers_not_authoritative', 'no'],
    [{ state: 'no_answer' }, 'stops new_nameservers_silent', 'no'],
    [{ state: 'no_address' }, 'stops new_nameservers_without_address', 'no'],
    [{ ds: 'mismatch' }, 'stops ds_mismatch', 'no'],
    [{ state: 'unseen' }, 'unseen new_nameservers_unseen', 'unknown'],
    [{ ds: 'unknown' }, 'unseen ds_unseen', 'unknown'],
    [{ uncomparedFacts: ['mx'] }, 'unseen records_unseen', 'yes'],
    [
      { differences: [{ fact: 'mx', now: ['10 a.example'], onNewServer: [] }] },
      'stops records_differ',
      'yes',
    ],
  ])('with %j get the finding “%s”', (check, line, ready) => {
    const unreadyNameserver = { ...READY_NAMESERVER, host: 'ns2.new.example', ...check };
    const { items, areNewNameserversReady } = assess('nameservers', {
      nameserverChecks: [READY_NAMESERVER, unreadyNameserver],
    });
    expect(listCodes(items)).toEqual([line]);
    expect(JSON.stringify(items)).toContain('ns2.new.example');
    expect(JSON.stringify(items)).not.toContain('ns1.new.example');
    expect(areNewNameserversReady).toBe(ready);
  });

  test('are not ready if they weren’t queried', () => {
    expect(assess('nameservers', { nameserverChecks: undefined })).toMatchObject({
      areNewNameserversReady: 'unknown',
      items: [{ code: 'new_nameservers_unchecked', severity: 'unseen' }],
    });
    expect(assess('nameservers', { nameserverChecks: [] }).areNewNameserversReady).toBe('unknown');
    expect(assess('delete').areNewNameserversReady).toBeUndefined();
  });

  test('that don’t answer stop mail and website', () => {
    const { items } = assess('nameservers', {
      facts: IN_USE,
      nameserverChecks: [{ ...READY_NAMESERVER, state: 'no_answer' }],
    });
    expect(listCodes(items)).toEqual(['stops new_nameservers_silent', 'stops mail', 'stops website']);
  });
});

test('an auth code for an unlocked name warns about the missing transfer lock', () => {
  const locked = { ...EMPTY, statuses: createFact(['client transfer prohibited']) };
  expect(listCodes(assess('authcode').items)).toEqual(['note no_transfer_lock']);
  expect(listCodes(assess('authcode', { facts: locked }).items)).toEqual([]);
  expect(listCodes(assess('delete').items)).toEqual([]);
  expect(
    listCodes(
      assess('authcode', { facts: { ...EMPTY, statuses: createUnknownFact('not_published') } }).items,
    ),
  ).toEqual(['unseen unseen']);
});

describe('the name must be typed again', () => {
  const silentNameserver = { ...READY_NAMESERVER, state: 'no_answer' as const };
  test.each([
    ['always before a deletion', assess('delete'), true],
    ['always before an owner change', assess('owner-change'), true],
    ['not before new nameservers that answer', assess('nameservers', { facts: IN_USE }), false],
    ['not if the name is unused', assess('nameservers', { nameserverChecks: [silentNameserver] }), false],
    [
      'if new nameservers do not answer',
      assess('nameservers', { facts: IN_USE, nameserverChecks: [silentNameserver] }),
      true,
    ],
    ['if they were not queried', assess('nameservers', { facts: IN_USE, nameserverChecks: undefined }), true],
    [
      'if the use of the name is unknown',
      assess('nameservers', { facts: {}, nameserverChecks: [silentNameserver] }),
      true,
    ],
    ['not before an auth code', assess('authcode', { facts: IN_USE }), false],
  ])('%s', (_case, assessedImpact, expected) => {
    expect(needsTypedName(assessedImpact)).toBe(expected);
  });
});

describe('between the request and the approval', () => {
  test('new, gone and changed findings are reported', () => {
    const requested = assess('delete', { facts: { ...IN_USE, aaaa: createUnknownFact('timeout') } });
    const facts = { ...EMPTY, mx: createFact(['10 other.example']), ds: createFact(['1 13 2 ab']) };
    const now = assess('delete', { facts });
    expect(compareImpacts(requested, now)).toEqual({
      addedItems: [{ code: 'signed', severity: 'note' }],
      removedItems: [
        { code: 'website', severity: 'stops', addresses: ['198.51.100.7'], hosts: ['@'] },
        { code: 'unseen', severity: 'unseen', reason: 'timeout', facts: ['aaaa'] },
      ],
      changedItems: [
        {
          before: { code: 'mail', severity: 'stops', servers: ['mail.example', 'b.mail.example'] },
          after: { code: 'mail', severity: 'stops', servers: ['other.example'] },
        },
      ],
    });
  });
});

describe('another approval', () => {
  const hasNewFindings = (before: Impact, now: Impact) => {
    const known = listFindingKeys(before);
    return listFindingKeys(now).some((finding) => !known.includes(finding));
  };
  const hasNewFindingsFor = (facts: Facts, before: Facts) =>
    hasNewFindings(assess('delete', { facts: before }), assess('delete', { facts }));

  test.each<[string, Facts, Facts, boolean]>([
    ['a first mail server', EMPTY, { ...EMPTY, mx: createFact(['10 mail.example']) }, true],
    ['a fact that is no longer visible', EMPTY, { ...EMPTY, mx: createUnknownFact('timeout') }, true],
    [
      'a second fact that is no longer visible',
      { ...EMPTY, a: createUnknownFact('timeout') },
      { ...EMPTY, a: createUnknownFact('timeout'), mx: createUnknownFact('timeout') },
      true,
    ],
    ['no change', IN_USE, IN_USE, false],
    ['a use that has ended', IN_USE, EMPTY, false],
    ['an address that changes', IN_USE, { ...IN_USE, a: createFact(['203.0.113.9']) }, false],
    ['another mail server', IN_USE, { ...IN_USE, mx: createFact(['10 other.example']) }, true],
    ['a removed mail server', IN_USE, { ...IN_USE, mx: createFact(['10 mail.example']) }, false],
    ['an additional website under www', IN_USE, { ...IN_USE, www_a: createFact(['203.0.113.9']) }, true],
    [
      'a website that becomes an alias of another host',
      { ...EMPTY, www_a: createFact(['203.0.113.9']), www_cname: createFact(['shop.example']) },
      { ...EMPTY, www_a: createFact(['203.0.113.9']), www_cname: createFact(['parking.example']) },
      true,
    ],
    [
      'a fact that is still invisible, for another reason',
      { ...EMPTY, mx: createUnknownFact('timeout') },
      { ...EMPTY, mx: createUnknownFact('refused') },
      false,
    ],
    ['a finding that is only a note', EMPTY, { ...EMPTY, ds: createFact(['1 13 2 ab']) }, false],
  ])('is needed only for a new risk: %s', (_what, before, now, expected) => {
    expect(hasNewFindingsFor(now, before)).toBe(expected);
  });

  test('is needed if another name has come to depend on this one', () => {
    const newMailDependents = (...names: string[]) => ({
      ...NO_DEPENDENTS,
      mail: { count: names.length, privateCount: 0, names },
    });
    const before = assess('delete', { dependents: newMailDependents('bar.rest') });
    const both = assess('delete', { dependents: newMailDependents('bar.rest', 'deli.rest') });
    expect(hasNewFindings(before, both)).toBe(true);
    expect(hasNewFindings(before, before)).toBe(false);
  });
});

describe('earlier findings', () => {
  test('fill in for unseen facts, and never replace seen ones', () => {
    const unseenMail = { ...EMPTY, mx: createUnknownFact('timeout') };
    const impactWithEarlierFacts = assess('delete', { facts: unseenMail, earlierFacts: IN_USE });
    expect(listCodes(impactWithEarlierFacts.items)).toEqual(['stops mail', 'unseen unseen']);
    expect(impactWithEarlierFacts.isInUse).toBe('yes');
    expect(listCodes(assess('delete', { earlierFacts: IN_USE }).items)).toEqual([]);
    expect(assess('delete', { facts: unseenMail, earlierFacts: EMPTY }).isInUse).toBe('unknown');
  });

  test('older than an hour become unknown, but still warn', () => {
    const addToNow = (ms: number) => new Date(NOW.getTime() + ms);
    const unused = assess('nameservers');
    expect(markStaleImpact(unused, addToNow(MAX_CURRENT_FACT_AGE_MS))).toBe(unused);
    const staleImpact = markStaleImpact(unused, addToNow(MAX_CURRENT_FACT_AGE_MS + 1));
    expect(staleImpact).toMatchObject({ isInUse: 'unknown', areNewNameserversReady: 'unknown' });
    expect(listCodes(staleImpact.items)).toEqual(['unseen unseen']);
    expect(
      listCodes(
        markStaleImpact(assess('delete', { facts: IN_USE }), addToNow(MAX_CURRENT_FACT_AGE_MS + 1)).items,
      ),
    ).toEqual(['stops mail', 'stops website', 'unseen unseen']);
  });
});

describe('for all facts', () => {
  const fact: fc.Arbitrary<Fact> = fc.oneof(
    fc.constant(ABSENT),
    fc.constantFrom(createUnknownFact('timeout'), createUnknownFact('refused')),
    fc.uniqueArray(fc.constantFrom('10 a.example', '0 .', '198.51.100.7'), { minLength: 1 }).map(createFact),
  );
  const facts = fc.record<Record<'a' | 'aaaa' | 'www_a' | 'www_aaaa' | 'mx' | 'ds', Fact>>({
    a: fact,
    aaaa: fact,
    www_a: fact,
    www_aaaa: fact,
    mx: fact,
    ds: fact,
  });
  const check: fc.Arbitrary<NameserverCheck> = fc.record({
    host: fc.constantFrom('ns1', 'ns2', 'ns3'),
    state: fc.constantFrom('authoritative', 'not_authoritative', 'no_answer', 'no_address', 'unseen'),
    differences: fc.constant([]),
    uncomparedFacts: fc.subarray<FactName>(['mx', 'a']),
    ds: fc.constantFrom('match', 'mismatch', 'unknown', 'unsigned'),
  });
  const input: fc.Arbitrary<ImpactInput> = fc.record({
    task: fc.constantFrom(...IMPACT_TASKS),
    seenAt: fc.constant(NOW),
    facts,
    earlierFacts: fc.constant({}),
    dependents: fc.constantFrom(NO_DEPENDENTS, undefined),
    checks: fc.option(fc.array(check, { maxLength: 3 }), { nil: undefined }),
  });

  test('the most severe items come first', () => {
    fc.assert(
      fc.property(input, (impactInput) => {
        const ranks = assessImpact(impactInput).items.map(({ severity }) => SEVERITIES.indexOf(severity));
        expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
      }),
    );
  });

  test('every unseen fact is listed', () => {
    fc.assert(
      fc.property(input, (impactInput) => {
        const { items } = assessImpact(impactInput);
        const listed = items.flatMap((item) => (item.code === 'unseen' ? item.facts : []));
        for (const name of ['a', 'aaaa', 'www_a', 'www_aaaa', 'mx'] as const) {
          expect(listed.includes(name)).toBe(impactInput.facts[name]?.state === 'unseen');
        }
      }),
    );
  });

  test('only seen facts make a name unused or its new nameservers ready', () => {
    fc.assert(
      fc.property(input, (impactInput) => {
        const { isInUse, areNewNameserversReady } = assessImpact(impactInput);
        if (isInUse === 'no') {
          expect(impactInput.dependents).toBeDefined();
          for (const name of ['a', 'aaaa', 'www_a', 'www_aaaa'] as const) {
            expect(impactInput.facts[name]).toEqual(ABSENT);
          }
          expect(impactInput.facts.mx?.state).not.toBe('unseen');
        }
        if (areNewNameserversReady === 'yes') {
          expect(impactInput.nameserverChecks?.every(({ state }) => state === 'authoritative')).toBe(true);
        }
      }),
    );
  });

  test('an impact doesn’t differ from itself, and differences are symmetric', () => {
    fc.assert(
      fc.property(input, input, (one, other) => {
        const [before, after] = [assessImpact(one), assessImpact({ ...other, task: one.task })];
        expect(compareImpacts(before, before)).toEqual({
          addedItems: [],
          removedItems: [],
          changedItems: [],
        });
        const forth = compareImpacts(before, after);
        const back = compareImpacts(after, before);
        expect(back.removedItems).toEqual(forth.addedItems);
        expect(back.addedItems).toEqual(forth.removedItems);
        expect(back.changedItems.length).toBe(forth.changedItems.length);
      }),
    );
  });
});
