import type { SandboxDns } from '@domain-steward/sandbox-service';
import { describe, expect, test } from 'vitest';
import { createFact, type Facts } from '../../src/names/facts.ts';
import { checkNameservers } from '../../src/names/nameserver-check.ts';
import { createDnsObserver } from '../../src/names/observe.ts';
import { computeDsDigest, computeKeyTag } from '../../src/registry/dns/ds.ts';
import { createParentZones } from '../../src/registry/dns/parent-zones.ts';
import { createTestDnsClient, serveName, startDns } from '../registry/dns/sandbox-dns.ts';

const ZONE_LINES = ['@ A 198.51.100.7', '@ MX 10 mail.example', 'www CNAME cafe.rest', '@ TXT "v=spf1 -all"'];
const KEY = { flags: 257, algorithm: 13, key: Buffer.from('a key of sixty-four bytes in a real zone') };
const DNSKEY = `@ DNSKEY 257 3 13 ${KEY.key.toString('base64')}`;
const DS = `${computeKeyTag(KEY)} 13 2 ${computeDsDigest('cafe.rest', KEY, 2)}`;
const READY_CHECK = { state: 'authoritative', differences: [], uncomparedFacts: [], ds: 'unsigned' };

async function startDnsWithName() {
  const dns = await startDns();
  await serveName(dns, 'cafe.rest', ZONE_LINES);
  await dns.addNameserver('ns1.new.example');
  return dns;
}

async function runCheck(
  dns: SandboxDns,
  hosts: readonly string[] = ['ns1.new.example'],
  factChanges: Facts = {},
) {
  const client = createTestDnsClient(dns, { timeoutMs: 300 });
  const now = () => new Date('2026-11-22T00:00:00Z');
  const observer = createDnsObserver(
    client,
    createParentZones(client, now),
    () => Promise.resolve(createFact(['2027-01-01T00:00:00.000Z'])),
    now,
  );
  const { facts } = await observer.observe('cafe.rest');
  return checkNameservers(client, { name: 'cafe.rest', currentFacts: { ...facts, ...factChanges } }, hosts);
}

describe('new nameservers', () => {
  test('with the same records have no differences', async () => {
    const dns = await startDnsWithName();
    dns.world.serve('cafe.rest', ['ns1.new.example'], ZONE_LINES);
    expect(await runCheck(dns)).toEqual([{ host: 'ns1.new.example', ...READY_CHECK }]);
  });

  test('with other records are reported with the differences', async () => {
    const dns = await startDnsWithName();
    dns.world.serve(
      'cafe.rest',
      ['ns1.new.example'],
      ['@ A 198.51.100.9', 'www A 198.51.100.7', '@ TXT "v=spf1 -all"'],
    );
    const [result] = await runCheck(dns);
    expect(result).toMatchObject({
      state: 'authoritative',
      differences: [
        { fact: 'a', now: ['198.51.100.7'], onNewServer: ['198.51.100.9'] },
        { fact: 'mx', now: ['10 mail.example'], onNewServer: [] },
      ],
    });
  });

  test('may have aliases outside the name, which the resolver follows', async () => {
    const dns = await startDnsWithName();
    await serveName(dns, 'pages.example', ['@ A 198.51.100.7'], ['ns1.pages.example']);
    const lines = [...ZONE_LINES.filter((line) => !line.startsWith('www')), 'www CNAME pages.example'];
    dns.world.serve('cafe.rest', ['ns1.new.example'], lines);
    expect(await runCheck(dns)).toMatchObject([{ differences: [], uncomparedFacts: [] }]);
  });

  test('without the name are reported', async () => {
    const dns = await startDnsWithName();
    expect(await runCheck(dns)).toMatchObject([{ state: 'not_authoritative', ds: 'unknown' }]);
    dns.world.serve('cafe.rest', ['ns1.new.example'], ZONE_LINES);
    dns.faults.set({ kind: 'not_authoritative', match: { server: 'ns1.new.example' } });
    expect(await runCheck(dns)).toMatchObject([{ state: 'not_authoritative' }]);
  });

  test('that don’t answer are reported, without their records', async () => {
    const dns = await startDnsWithName();
    dns.faults.set({ kind: 'silence', match: { server: 'ns1.new.example' } });
    const [result] = await runCheck(dns);
    expect(result).toMatchObject({ state: 'no_answer', differences: [], ds: 'unknown' });
    expect(result?.uncomparedFacts).toHaveLength(8);
  });

  test('without an address are told apart from those whose address lookup failed', async () => {
    const dns = await startDnsWithName();
    dns.faults.set({ kind: 'servfail', match: { name: 'ns3.new.example' } });
    expect(await runCheck(dns, ['ns2.new.example', 'ns3.new.example'])).toMatchObject([
      { host: 'ns2.new.example', state: 'no_address' },
      { host: 'ns3.new.example', state: 'unseen' },
    ]);
    dns.faults.set({ kind: 'servfail', match: { name: 'ns2.new.example', type: 'AAAA' } });
    expect(await runCheck(dns, ['ns2.new.example'])).toMatchObject([{ state: 'unseen' }]);
  });

  test('are compared only with seen records', async () => {
    const dns = await startDnsWithName();
    dns.world.serve('cafe.rest', ['ns1.new.example'], []);
    const [result] = await runCheck(dns, ['ns1.new.example'], { mx: { state: 'unseen', reason: 'timeout' } });
    expect(result?.uncomparedFacts).toEqual(['mx']);
    expect(result?.differences.map(({ fact }) => fact)).toEqual(['a', 'www_a', 'spf']);
  });
});

describe('the DS at the parent', () => {
  async function startDnsWithDs(lines: readonly string[]) {
    const dns = await startDnsWithName();
    dns.world.delegate('cafe.rest', ['ns1.host.example'], [DS]);
    dns.world.serve('cafe.rest', ['ns1.new.example'], [...ZONE_LINES, ...lines]);
    return dns;
  }

  test('matches the key of the new nameservers', async () => {
    expect(await runCheck(await startDnsWithDs([DNSKEY]))).toMatchObject([{ ds: 'match' }]);
  });

  test('is a mismatch with another key, and with no key', async () => {
    expect(await runCheck(await startDnsWithDs(['@ DNSKEY 257 3 13 QUJDRA==']))).toMatchObject([
      { ds: 'mismatch' },
    ]);
    expect(await runCheck(await startDnsWithDs([]))).toMatchObject([{ ds: 'mismatch' }]);
  });

  test('is unknown if its lookup or the lookup of the keys failed', async () => {
    const unseenDs = await startDnsWithDs([DNSKEY]);
    unseenDs.faults.set({ kind: 'servfail', match: { type: 'DS' } });
    expect(await runCheck(unseenDs)).toMatchObject([{ ds: 'unknown' }]);
    const unseenKeys = await startDnsWithDs([DNSKEY]);
    unseenKeys.faults.set({ kind: 'silence', match: { type: 'DNSKEY', server: 'ns1.new.example' } });
    expect(await runCheck(unseenKeys)).toMatchObject([{ ds: 'unknown' }]);
  });
});
