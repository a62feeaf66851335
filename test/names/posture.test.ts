import { describe, expect, test } from 'vitest';
import { createFact, createUnknownFact, type Facts } from '../../src/names/facts.ts';
import { matchesFindings, parseFilter } from '../../src/names/filter.ts';
import { mergeObservation, type NameHistory } from '../../src/names/history.ts';
import { NO_FAULTS } from '../../src/names/observe-delegation.ts';
import {
  type AssessedName,
  assessName,
  countFindingChanges,
  createPosture,
  type FindingCode,
  LOOKUP_PARTS,
  type Posture,
  summarizePosture,
} from '../../src/names/posture.ts';

const DAY_MS = 86_400_000;
const START = new Date('2026-11-22T00:00:00Z');
const at = (days: number) => new Date(START.getTime() + days * DAY_MS);
const HOSTS = ['ns1.host.example', 'ns2.host.example'];

/** A name without findings. */
const SOUND: Facts = {
  ...NO_FAULTS,
  registration: createFact(['registered']),
  statuses: createFact(['client transfer prohibited']),
  parent_nameservers: createFact(HOSTS),
  ds: createFact(['1 13 2 ab']),
  signatures: createFact([at(100).toISOString()]),
  a: createFact(['198.51.100.7']),
  aaaa: createFact([]),
  mx: createFact(['10 mail.example']),
  caa: createFact(['0 issue ca.example']),
  spf: createFact(['v=spf1 -all']),
  dmarc: createFact(['v=dmarc1; p=reject']),
  certificate: createFact([at(100).toISOString()]),
  www_certificate: createFact([]),
};

const { signatures: _, ...NEVER_SIGNED } = SOUND;
const signedUntil = (days: number, ...kind: string[]): Facts => ({
  signatures: createFact([at(days).toISOString(), ...kind]),
});

const assess = (history: NameHistory, moment: Date, former?: Posture) =>
  createPosture({ name: 'cafe.rest', history, at: moment, certificateDays: [14, 7] }, former);

function historyOf(...looks: readonly (readonly [days: number, facts: Facts])[]): NameHistory {
  return looks.reduce<NameHistory>(
    (history, [days, facts]) => mergeObservation(history, { name: 'cafe.rest', at: at(days), facts }).history,
    {},
  );
}

function nameWith(given: Partial<AssessedName> & { readonly facts?: Facts } = {}): AssessedName {
  const { facts = {}, ...rest } = given;
  return {
    ...{ expiresAt: at(300), deletedAt: undefined, isLapsing: false, hasOwner: true },
    incidentSince: undefined,
    posture: assess(historyOf([0, { ...SOUND, ...facts }]), START, undefined),
    ...rest,
  };
}

const codesAt = (name: AssessedName, days = 1) => assessName(name, at(days)).findings.map(({ code }) => code);

describe('a name', () => {
  test.each<[string, Parameters<typeof nameWith>[0], readonly FindingCode[]]>([
    ['without findings', {}, []],
    ['that expired', { expiresAt: at(1) }, ['expired']],
    ['that was deleted, whatever its date', { deletedAt: at(-1) }, ['expired']],
    ['deleted without a date', { deletedAt: at(-1), expiresAt: undefined }, ['expired']],
    ['that expires in 30 days', { expiresAt: at(31) }, ['expires_soon']],
    ['that expires later', { expiresAt: at(31.1) }, []],
    ['without a date', { expiresAt: undefined }, ['undated']],
    ['without an owner', { hasOwner: false }, ['no_owner']],
    ['with an incident', { incidentSince: at(0) }, ['incident']],
    ['that may lapse', { isLapsing: true, expiresAt: at(-1), hasOwner: false }, []],
    ['without a lock', { facts: { statuses: createFact(['active']) } }, ['unlocked']],
    [
      'with only an update lock',
      { facts: { statuses: createFact(['client update prohibited']) } },
      ['unlocked'],
    ],
    ['whose lock has no “client” or “server”', { facts: { statuses: createFact(['locked']) } }, []],
    ['that isn’t registered', { facts: { registration: createFact([]), statuses: createFact([]) } }, []],
    ['with a lame server', { facts: { lame_nameservers: createFact(HOSTS.slice(1)) } }, ['lame']],
    [
      'with a server without an address',
      { facts: { addressless_nameservers: createFact(HOSTS.slice(1)) } },
      ['lame'],
    ],
    ['with a silent server', { facts: { silent_nameservers: createFact(HOSTS.slice(1)) } }, ['lame']],
    ['with only lame servers', { facts: { lame_nameservers: createFact(HOSTS) } }, ['all_lame']],
    [
      'whose nameserver’s domain is unregistered',
      { facts: { registrable_domains: createFact(['host.example']) } },
      ['nameserver_registrable'],
    ],
    [
      'whose nameserver’s domain expires',
      { facts: { expiring_domains: createFact(['host.example']) } },
      ['nameserver_expiring'],
    ],
    ['with a DS that matches no key', { facts: { mismatched_ds: createFact(HOSTS) } }, ['dnssec_broken']],
    [
      'whose certificate expired',
      { facts: { certificate: createFact([at(1).toISOString()]) } },
      ['certificate_expired'],
    ],
    [
      'whose certificate expired in 1970',
      { facts: { certificate: createFact(['1970-01-01T00:00:00.000Z']) } },
      ['certificate_expired'],
    ],
    [
      'whose certificate never expires',
      { facts: { certificate: createFact(['9999-12-31T23:59:59.000Z']) } },
      [],
    ],
    [
      'with 14 days left on its certificate',
      { facts: { www_certificate: createFact([at(15).toISOString()]) } },
      ['certificate_expiring'],
    ],
    ['with 14.1 days left', { facts: { www_certificate: createFact([at(15.1).toISOString()]) } }, []],
    [
      'with a certificate for other names',
      { facts: { certificate: createFact([at(90).toISOString(), 'mismatch:host.example']) } },
      ['certificate_mismatch'],
    ],
    ['whose signature expires in 3 days', { facts: signedUntil(4) }, ['dnssec_expiring']],
    ['whose signature expires later', { facts: signedUntil(4.1) }, []],
    ['whose signature expired', { facts: signedUntil(-5) }, ['dnssec_expiring']],
    ['whose short signature is renewed', { facts: signedUntil(1, 'short') }, []],
    ['whose short signature expired', { facts: signedUntil(-0.1, 'short') }, ['dnssec_expiring']],
    ['that is no longer signed', { facts: { ...signedUntil(2), ds: createFact([]) } }, ['unsigned']],
    ['without DNSSEC', { facts: { ds: createFact([]) } }, ['unsigned']],
    ['without CAA', { facts: { caa: createFact([]) } }, ['no_caa']],
    [
      'with mail, but without SPF and DMARC',
      { facts: { spf: createFact([]), dmarc: createFact([]) } },
      ['no_spf', 'no_dmarc'],
    ],
    [
      'with a null MX',
      { facts: { mx: createFact(['0 .']), spf: createFact([]), dmarc: createFact([]) } },
      [],
    ],
    ['without mail', { facts: { mx: createFact([]), spf: createFact([]), dmarc: createFact([]) } }, []],
  ])('%s', (_case, given, codes) => {
    expect(codesAt(nameWith(given))).toEqual(codes);
  });

  test('lists its worst finding first, each with its start', () => {
    const facts = { lame_nameservers: createFact(HOSTS.slice(1)), ds: createFact([]) };
    const former = assess(historyOf([0, { ...SOUND, ...facts }]), at(0), undefined);
    const posture = assess(historyOf([0, { ...SOUND, ...facts }], [1, SOUND]), at(1), former);
    expect(assessName(nameWith({ posture, expiresAt: at(-5) }), at(2)).findings).toEqual([
      { code: 'expired', since: at(-5) },
      { code: 'lame', since: at(0), about: HOSTS.slice(1) },
      { code: 'unsigned', since: at(0) },
    ]);
  });

  test.each([
    ['was never looked up', undefined, [...LOOKUP_PARTS]],
    ['was fully seen', SOUND, []],
    ['shows no statuses', { ...SOUND, statuses: createUnknownFact('not_published') }, ['registry']],
    ['has a silent server', { ...SOUND, silent_nameservers: createFact(HOSTS.slice(1)) }, ['delegation']],
    [
      'has a partly seen delegation',
      { ...SOUND, registrable_domains: createUnknownFact('timeout') },
      ['delegation'],
    ],
    ['has an unknown DS', { ...SOUND, ds: createUnknownFact('server_failure') }, ['dnssec']],
    ['is signed, with unread signatures', NEVER_SIGNED, ['dnssec']],
    ['has no signature', { ...SOUND, signatures: createUnknownFact('unsigned_answer') }, ['dnssec']],
    ['isn’t signed', { ...NEVER_SIGNED, ds: createFact([]) }, []],
    ['has no TLS', { ...SOUND, certificate: createUnknownFact('no_tls') }, ['certificate']],
    ['has unknown mail servers', { ...SOUND, mx: createUnknownFact('timeout') }, ['dns']],
  ] as const)('that %s lists its unseen parts', (_case, facts, parts) => {
    const posture = facts && assess(historyOf([0, facts]), START, undefined);
    const { unseen: missing } = assessName(nameWith({ posture }), at(1));
    expect(missing.map(({ part }) => part)).toEqual(parts);
  });

  test.each(['certificate', 'www_certificate'] as const)('names the host of an expired %s', (fact) => {
    const name = nameWith({ facts: { [fact]: createFact([at(1).toISOString()]) } });
    const host = fact === 'certificate' ? 'cafe.rest' : 'www.cafe.rest';
    expect(assessName(name, at(1)).findings).toMatchObject([{ code: 'certificate_expired', about: [host] }]);
  });

  test('lists its silent servers, if there are any', () => {
    const silent = HOSTS.slice(1);
    const aboutOf = (facts: Facts) =>
      assess(historyOf([0, { ...SOUND, ...facts }]), START).unseen.flatMap((part) => part.about ?? []);
    expect(aboutOf({ silent_nameservers: createFact(silent) })).toEqual(silent);
    expect(aboutOf({})).toEqual([]);
    expect(assess(historyOf([0, SOUND]), START).unseen.filter((part) => 'about' in part)).toEqual([]);
  });

  test('becomes unseen once its lookups are old', () => {
    const partsAt = (days: number) => assessName(nameWith(), at(days)).unseen.map(({ part }) => part);
    expect(partsAt(1.9)).toEqual([]);
    expect(partsAt(2)).toEqual(['delegation', 'dnssec', 'dns', 'certificate']);
    expect(partsAt(15)).toEqual([...LOOKUP_PARTS]);
  });

  test('keeps a finding while its facts are unseen', () => {
    const history = historyOf(
      [0, { ...SOUND, ds: createFact([]) }],
      [1, { ds: createUnknownFact('timeout') }],
    );
    const name = nameWith({ posture: assess(history, at(1), undefined) });
    expect(assessName(name, at(1))).toMatchObject({
      findings: [{ code: 'unsigned' }],
      unseen: [{ part: 'dnssec' }],
    });
  });
});

test('names are sorted worst first, and unseen names don’t count as fine', () => {
  const named = (name: string, given: Parameters<typeof nameWith>[0]) => ({ name, ...nameWith(given) });
  const { names, counts } = summarizePosture(
    [
      named('fine.rest', {}),
      named('note.rest', { facts: { ds: createFact([]) } }),
      named('dark.rest', { posture: undefined }),
      named('warned.rest', { hasOwner: false }),
      named('both.rest', { expiresAt: at(-1), hasOwner: false }),
      named('gone.rest', { expiresAt: at(-1) }),
      named('also-gone.rest', { expiresAt: at(-1) }),
    ],
    at(1),
  );
  const gone = ['both.rest', 'also-gone.rest', 'gone.rest'];
  const order = [...gone, 'warned.rest', 'dark.rest', 'note.rest', 'fine.rest'];
  expect(names.map(({ name }) => name)).toEqual(order);
  expect(counts).toEqual({ danger: 3, warning: 1, unchecked: 1, fine: 2 });
});

describe('a filter', () => {
  test.each([
    ['unlocked', true],
    ['unlocked unsigned', false],
    ['finding:unsigned,unlocked', true],
    ['finding:unsigned finding:UNLOCKED', true],
    ['finding:unsigned', false],
    ['lame', false],
    ['cert<30', false],
    ['cert<101', true],
    ['', true],
  ])('%s finds an unlocked name: %s', (text, isFound) => {
    const read = parseFilter(text);
    if (!read.ok) throw new Error('invalid filter');
    const unlocked = nameWith({ facts: { statuses: createFact(['active']) } });
    expect(matchesFindings(read.filter, unlocked, at(1))).toBe(isFound);
  });
});

test('a short signature that isn’t renewed for a day is a warning three days before it expires', () => {
  const short = (days: number) => ({ ...SOUND, ...signedUntil(days, 'short') });
  const posture = assess(historyOf([0, short(5)], [1, short(5)]), at(1));
  expect(codesAt(nameWith({ posture }), 1.9)).toEqual([]);
  expect(codesAt(nameWith({ posture }), 2)).toEqual(['dnssec_expiring']);
  const renewed = assess(historyOf([0, short(2)], [1, short(3)]), at(1));
  expect(codesAt(nameWith({ posture: renewed }), 2)).toEqual([]);
});

test('a finding replaced by a worse one doesn’t count as fixed, and notes don’t count', () => {
  const changes = [
    { began: ['expired', 'unlocked', 'no_caa'], ended: ['expires_soon', 'unsigned'], names: 2 },
    { began: ['unlocked'], ended: ['expires_soon', 'lame'], names: 3 },
  ] as const;
  expect(countFindingChanges(changes)).toEqual({
    new: [
      { code: 'expired', names: 2 },
      { code: 'unlocked', names: 5 },
    ],
    fixed: [
      { code: 'expires_soon', names: 3 },
      { code: 'lame', names: 3 },
    ],
  });
});
