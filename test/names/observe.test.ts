import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { createFact, getFactValue } from '../../src/names/facts.ts';
import { createDnsObserver } from '../../src/names/observe.ts';
import { createAddressFilter, isSandbox } from '../../src/names/reachability.ts';
import { readCertificate } from '../../src/registry/certificate.ts';
import { createParentZones } from '../../src/registry/dns/parent-zones.ts';
import { createTestDnsClient, serveName, startDns } from '../registry/dns/sandbox-dns.ts';

const AT = new Date('2026-11-22T00:00:00Z');
const LINES = [
  '@ A 198.51.100.8',
  '@ A 198.51.100.7',
  '@ MX 20 b.mail.example',
  '@ MX 10 A.Mail.example',
  '@ TXT "google-site-verification=x"',
  '@ TXT "v=spf1  include:_spf.example -all"',
  '@ CAA 0 issue letsencrypt.org',
  'www CNAME cafe.rest',
  '_dmarc TXT "v=DMARC1; p=reject"',
];

async function arrange(lines: readonly string[] = LINES) {
  const dns = await startDns();
  await serveName(dns, 'cafe.rest', lines);
  const asked: (readonly string[])[] = [];
  let now = AT;
  const client = createTestDnsClient(dns, { timeoutMs: 300 });
  const observer = createDnsObserver(
    client,
    createParentZones(client, () => now),
    (_name, addresses) => {
      asked.push(addresses);
      return Promise.resolve(createFact(['2027-01-01T00:00:00.000Z']));
    },
    () => now,
  );
  return {
    dns,
    asked,
    advance: (ms: number) => {
      now = new Date(now.getTime() + ms);
    },
    facts: async (name = 'cafe.rest') => (await observer.observe(name)).facts,
  };
}

describe('a DNS lookup', () => {
  test('returns all facts, normalized', async () => {
    const { facts, asked } = await arrange();
    expect(await facts()).toEqual({
      parent_nameservers: createFact(['ns1.host.example', 'ns2.host.example']),
      nameservers: createFact(['ns1.host.example', 'ns2.host.example']),
      soa: createFact(['ns1.host.example hostmaster.cafe.rest']),
      a: createFact(['198.51.100.7', '198.51.100.8']),
      aaaa: { state: 'absent' },
      www_a: createFact(['198.51.100.7', '198.51.100.8']),
      www_aaaa: { state: 'absent' },
      cname: { state: 'absent' },
      www_cname: createFact(['cafe.rest']),
      mx: createFact(['10 a.mail.example', '20 b.mail.example']),
      caa: createFact(['0 issue letsencrypt.org']),
      spf: createFact(['v=spf1 include:_spf.example -all']),
      dmarc: createFact(['v=DMARC1; p=reject']),
      ds: { state: 'absent' },
      dnskey: { state: 'absent' },
      certificate: createFact(['2027-01-01T00:00:00.000Z']),
      www_certificate: createFact(['2027-01-01T00:00:00.000Z']),
    });
    const addresses = ['198.51.100.7', '198.51.100.8'];
    expect(asked, 'of the name and its www').toEqual([addresses, addresses]);
  });

  test('replaces control characters, and shortens long values so that they still differ', async () => {
    const { dns, facts } = await arrange();
    const long = (end: string) => [
      `@ TXT "v=spf1 ${'x'.repeat(200)}" "${'y'.repeat(240)}" "${'z'.repeat(200)}${end}"`,
    ];
    dns.world.serve(
      'cafe.rest',
      ['ns1.host.example'],
      [...long('1'), '_dmarc TXT "v=DMARC1; p=\u0000\u202enone"'],
    );
    const { spf, dmarc } = await facts();
    expect(dmarc).toEqual(createFact(['v=DMARC1; p=\ufffd\ufffdnone']));
    expect(getFactValue(spf)?.[0]).toHaveLength(518);
    dns.world.serve('cafe.rest', ['ns1.host.example'], long('2'));
    expect((await facts()).spf).not.toEqual(spf);
  });

  test('returns the same facts for records in another order and case', async () => {
    const { dns, facts } = await arrange();
    const before = await facts();
    const shuffled = LINES.toReversed().map((line) => line.replace('A.Mail.example', 'a.MAIL.Example'));
    dns.world.serve('cafe.rest', ['ns1.host.example', 'ns2.host.example'], shuffled);
    dns.world.delegate('cafe.rest', ['ns2.host.example', 'ns1.host.example']);
    expect(await facts()).toEqual({ ...before, soa: createFact(['ns1.host.example hostmaster.cafe.rest']) });
  });

  test('returns keys and their DS', async () => {
    const { dns, facts } = await arrange([...LINES, '@ DNSKEY 257 3 13 QUJDRA==']);
    dns.world.delegate('cafe.rest', ['ns1.host.example'], ['12345 13 2 ABCD']);
    expect(await facts()).toMatchObject({
      ds: createFact(['12345 13 2 abcd']),
      dnskey: { state: 'seen', value: [expect.stringMatching(/^257 13 \d+ [0-9a-f]{16}$/)] },
    });
  });

  test('returns the DS that the zone requests', async () => {
    const { dns, facts } = await arrange();
    expect(await facts()).not.toHaveProperty('requested_ds');
    const key = '257 3 13 QUJDRA==';
    dns.world.serve('cafe.rest', ['ns1.host.example'], [`@ DNSKEY ${key}`]);
    expect(await facts()).toMatchObject({ requested_ds: { state: 'absent' } });
    const digest = createHash('sha256')
      .update('\x04cafe\x04rest\0\x01\x01\x03\x0dABCD', 'latin1')
      .digest('hex');
    const request = ['@ CDS 1 13 2 ABCD', `@ CDNSKEY ${key}`, '@ CDNSKEY 0 3 0 AA=='];
    dns.world.serve('cafe.rest', ['ns1.host.example'], [`@ DNSKEY ${key}`, ...request]);
    const { requested_ds: requested } = await facts();
    expect(getFactValue(requested)).toContain('1 13 2 abcd');
    expect(getFactValue(requested)).toContainEqual(
      expect.stringMatching(new RegExp(`^\\d+ 13 2 ${digest}$`)),
    );
    expect(getFactValue(requested)).toContain('0 0 0 00');
    dns.faults.set({ kind: 'silence', match: { type: 'CDS' } });
    dns.faults.set({ kind: 'silence', match: { type: 'CDNSKEY' } });
    expect(await facts()).toMatchObject({ requested_ds: { state: 'unseen' } });
  });

  test('returns when the signatures of a signed name expire', async () => {
    const { dns, facts } = await arrange();
    const begin = AT.getTime() / 1000 - 86_400;
    const sign = (type: string, days: number) =>
      `@ RRSIG ${type} 13 2 60 ${begin + days * 86_400} ${begin} 1 cafe.rest c2lnbmVk`;
    const many = Array.from({ length: 50 }, (_, n) => sign('SOA', 20 - n / 10));
    const lines = ['@ DNSKEY 257 3 13 QUJDRA==', sign('DNSKEY', 15), sign('DNSKEY', 30), ...many];
    dns.world.serve('cafe.rest', ['ns1.host.example'], lines);
    expect(await facts()).not.toHaveProperty('signatures');
    dns.world.delegate('cafe.rest', ['ns1.host.example'], ['12345 13 2 ABCD']);
    expect(await facts()).toMatchObject({ signatures: createFact(['2026-12-11T00:00:00.000Z']) });
    dns.faults.set({ kind: 'no_dnssec', match: { type: 'SOA' } });
    expect(await facts()).toMatchObject({ signatures: { state: 'unseen', reason: 'unsigned_answer' } });
  });

  test('returns the nameservers at the parent and at the name separately', async () => {
    const { dns, facts } = await arrange();
    dns.world.serve('cafe.rest', ['ns1.host.example'], ['@ NS ns9.host.example']);
    expect(await facts()).toMatchObject({
      parent_nameservers: createFact(['ns1.host.example', 'ns2.host.example']),
      nameservers: createFact(['ns9.host.example']),
    });
  });

  test('of an undelegated name returns every fact as absent', async () => {
    const { facts } = await arrange();
    const found = await facts('nobody.rest');
    expect(Object.values(found).every((fact) => fact.state === 'absent')).toBe(true);
  });

  test('marks failed queries as unseen, and returns the rest', async () => {
    const { dns, facts } = await arrange();
    dns.faults.set({ kind: 'servfail', match: { type: 'MX' } });
    dns.faults.set({ kind: 'silence', match: { server: 'a.nic.rest' } });
    dns.faults.set({ kind: 'refused', match: { name: 'cafe.rest', type: 'A' } });
    expect(await facts()).toMatchObject({
      mx: { state: 'unseen', reason: 'server_failure' },
      parent_nameservers: { state: 'unseen', reason: 'timeout' },
      a: { state: 'unseen', reason: 'refused' },
      // It isn't known whether there is an address to connect to.
      certificate: { state: 'unseen', reason: 'refused' },
      www_certificate: createFact(['2027-01-01T00:00:00.000Z']),
      spf: { state: 'seen' },
    });
  });

  test('marks a zone missing from its nameservers as unseen, and returns its delegation', async () => {
    const { dns, facts } = await arrange();
    dns.world.drop('cafe.rest', ['ns1.host.example', 'ns2.host.example']);
    expect(await facts()).toMatchObject({
      parent_nameservers: createFact(['ns1.host.example', 'ns2.host.example']),
      nameservers: { state: 'unseen', reason: 'server_failure' },
      mx: { state: 'unseen', reason: 'server_failure' },
    });
  });

  test('sends one query per fact, and one to the parent zone', async () => {
    const { dns, facts } = await arrange(['@ A 198.51.100.7']);
    dns.faults.set({ kind: 'no_dnssec' });
    await facts();
    dns.clearQuestions();
    await facts();
    const queries = dns.questions.map(({ server, name, type }) => `${server} ${name} ${type}`);
    expect(queries.filter((question) => !question.startsWith('resolver'))).toEqual([
      'a.nic.rest cafe.rest NS',
    ]);
    expect(new Set(queries).size, queries.join('\n')).toBe(queries.length);
    expect(queries).toHaveLength(15);
  });

  test('looks up the parent zone once an hour', async () => {
    const { dns, facts, advance } = await arrange();
    await serveName(dns, 'bar.rest', []);
    const countZoneQueries = () => dns.questions.filter(({ name }) => name === 'rest').length;
    await facts('cafe.rest');
    await facts('bar.rest');
    expect(countZoneQueries()).toBe(1);
    advance(3_600_001);
    await facts('cafe.rest');
    expect(countZoneQueries()).toBe(2);
  });
});

describe('a certificate', () => {
  const folder = new URL('../support/tls/', import.meta.url);
  const read = (file: string) => readFileSync(new URL(file, folder));
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  function listen(server: ReturnType<typeof createTcpServer>): Promise<number> {
    closing.push(() => server.close());
    return new Promise((done) => {
      server.listen(0, '127.0.0.1', () => done((server.address() as AddressInfo).port));
    });
  }

  test('is read with its end date, trusted or not', async () => {
    const names: string[] = [];
    const options = { key: read('tls-test-key.pem'), cert: read('tls-test-cert.pem') };
    const server = createServer(options, (socket) => {
      if (typeof socket.servername === 'string') names.push(socket.servername);
      socket.on('error', () => socket.destroy());
    });
    const port = await listen(server);
    const fact = await readCertificate('cafe.rest', ['127.0.0.1'], { mayConnect: () => true, port });
    expect(fact).toEqual(
      createFact([
        '2120-01-01T00:00:00.000Z',
        'issuer:Test authority of the client tests',
        'mismatch:localhost',
      ]),
    );
  });

  async function readFrom(name: string, options: TlsOptions) {
    const server = createServer(options, (socket) => socket.on('error', () => socket.destroy()));
    const port = await listen(server);
    return readCertificate(name, ['127.0.0.1'], { mayConnect: () => true, port });
  }

  test.each([
    ['for 2,000 names', 'many-names', 'n1999.example', ['2120-01-01T00:00:00.000Z', 'issuer:n1.example']],
    [
      'for 2,000 other names',
      'many-names',
      'cafe.rest',
      ['2120-01-01T00:00:00.000Z', 'issuer:n1.example', 'mismatch:n1.example n2.example n3.example'],
    ],
    ['that ended in 1970', 'ended-1970', 'cafe.rest', ['1970-01-01T00:00:00.000Z', 'issuer:cafe.rest']],
    ['that ends in 9999', 'ends-9999', 'cafe.rest', ['9999-12-31T23:59:59.000Z', 'issuer:cafe.rest']],
    [
      'of a server whose clock is a day ahead',
      'begins-2026-11-23',
      'cafe.rest',
      ['2027-01-23T00:00:00.000Z', 'issuer:cafe.rest'],
    ],
  ])('%s is read', async (_case, file, name, value) => {
    const options = { key: read('tls-test-key.pem'), cert: read(`tls-test-${file}.pem`) };
    expect(await readFrom(name, options)).toEqual(createFact(value));
  });

  test('is unseen if the server offers none', async () => {
    expect(await readFrom('cafe.rest', {})).toEqual({ state: 'unseen', reason: 'no_tls' });
  });

  test('is unseen without TLS, and without a response', async () => {
    const rude = createTcpServer((socket) => socket.end('hello'));
    const port = await listen(rude);
    const options = { mayConnect: () => true, port };
    expect(await readCertificate('cafe.rest', ['127.0.0.1'], options)).toEqual({
      state: 'unseen',
      reason: 'no_tls',
    });
    const silent = createTcpServer((socket) => socket.on('error', () => socket.destroy()));
    const silentPort = await listen(silent);
    expect(
      await readCertificate('cafe.rest', ['127.0.0.1'], { ...options, port: silentPort, timeoutMs: 50 }),
    ).toEqual({ state: 'unseen', reason: 'timeout' });
  });

  test('is not read at private addresses', async () => {
    let connections = 0;
    const port = await listen(
      createTcpServer((socket) => {
        connections += 1;
        socket.destroy();
      }),
    );
    const mayConnect = createAddressFilter(false);
    expect(await readCertificate('cafe.rest', ['127.0.0.1', '10.0.0.1'], { mayConnect, port })).toEqual({
      state: 'unseen',
      reason: 'private_address',
    });
    expect(connections).toBe(0);
  });
});

describe('reachability', () => {
  test.each(['127.0.0.1', '10.1.2.3', '169.254.169.254', '::1', 'fd00::1', '::ffff:10.0.0.1', '0.0.0.0'])(
    'excludes %s',
    (address) => {
      expect(createAddressFilter(false)(address)).toBe(false);
    },
  );

  test('includes public addresses, and the machine itself only if configured', () => {
    expect(createAddressFilter(false)('198.41.0.4')).toBe(true);
    expect(createAddressFilter(false)('2606:4700::1111')).toBe(true);
    expect(createAddressFilter(true)('127.0.0.10')).toBe(true);
    expect(createAddressFilter(true)('10.1.2.3')).toBe(false);
  });

  test('recognizes a sandbox by a resolver on the loopback with its own port', () => {
    expect(isSandbox([{ address: '127.0.0.1', port: 5353 }])).toBe(true);
    expect(isSandbox([{ address: '127.0.0.53', port: 53 }])).toBe(false);
    expect(isSandbox([{ address: '10.0.0.1', port: 5353 }])).toBe(false);
    expect(isSandbox([])).toBe(false);
  });
});
