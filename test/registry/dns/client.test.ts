import { createSocket } from 'node:dgram';
import { encode } from 'dns-packet';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createDnsClient } from '../../../src/registry/dns/client.ts';
import { createTestDnsClient, serveName, startDns } from './sandbox-dns.ts';

const LINES = [
  '@ A 198.51.100.7',
  '@ A 198.51.100.8',
  '@ AAAA 2001:DB8::7',
  '@ MX 10 Mail.CAFE.rest',
  '@ TXT "v=spf1 " "-all"',
  '@ CAA 128 issue letsencrypt.org',
  'www CNAME cafe.rest',
  'shop CNAME shops.elsewhere.example',
  'first CNAME second.cafe.rest',
  'second CNAME first.cafe.rest',
  'dangling CNAME nothing.cafe.rest',
];

async function cafe(options: Parameters<typeof createTestDnsClient>[1] = {}) {
  const dns = await startDns();
  const addresses = await serveName(dns, 'cafe.rest', LINES);
  return { dns, addresses, client: createTestDnsClient(dns, options) };
}

describe('an existing record', () => {
  test('is read by its type', async () => {
    const { dns, client } = await cafe();
    dns.world.delegate('cafe.rest', ['ns1.host.example', 'ns2.host.example'], ['12345 13 2 ABCDEF']);
    expect(await client.query('cafe.rest', 'A')).toMatchObject({
      kind: 'records',
      records: ['198.51.100.7', '198.51.100.8'],
    });
    expect(await client.query('cafe.rest', 'AAAA')).toMatchObject({ records: ['2001:db8::7'] });
    expect(await client.query('cafe.rest', 'MX')).toMatchObject({
      records: [{ preference: 10, exchange: 'mail.cafe.rest' }],
    });
    expect(await client.query('cafe.rest', 'TXT')).toMatchObject({ records: ['v=spf1 -all'] });
    expect(await client.query('cafe.rest', 'CAA')).toMatchObject({
      records: [{ critical: true, tag: 'issue', value: 'letsencrypt.org' }],
    });
    expect(await client.query('cafe.rest', 'NS')).toMatchObject({
      records: ['ns1.host.example', 'ns2.host.example'],
    });
    expect(await client.query('cafe.rest', 'SOA')).toMatchObject({
      records: [{ primary: 'ns1.host.example', contact: 'hostmaster.cafe.rest' }],
    });
    expect(await client.query('cafe.rest', 'DS')).toMatchObject({
      records: [{ keyTag: 12345, algorithm: 13, digestType: 2, digest: 'abcdef' }],
    });
  });

  test('is found in any letter case', async () => {
    const { dns, client } = await cafe();
    dns.faults.set({ kind: 'upper_case' });
    expect(await client.query('CAFE.Rest.', 'A')).toMatchObject({ kind: 'records' });
  });

  test('is found through aliases', async () => {
    const { dns, client } = await cafe();
    await serveName(dns, 'elsewhere.example', ['shops A 198.51.100.9']);
    expect(await client.query('www.cafe.rest', 'A')).toMatchObject({
      records: ['198.51.100.7', '198.51.100.8'],
    });
    expect(await client.query('shop.cafe.rest', 'A')).toMatchObject({ records: ['198.51.100.9'] });
  });

  test('is found through aliases that the server doesn’t follow itself', async () => {
    const { dns, addresses } = await cafe();
    const [address = ''] = addresses;
    const client = createTestDnsClient(dns, { resolvers: [{ address, port: dns.port }] });
    expect(await client.query('www.cafe.rest', 'A')).toMatchObject({ kind: 'records' });
  });
});

describe('a missing record', () => {
  test('is either a missing type or a missing name', async () => {
    const { client } = await cafe();
    expect(await client.query('cafe.rest', 'DS')).toMatchObject({ kind: 'no_data' });
    expect(await client.query('nothing.cafe.rest', 'A')).toMatchObject({ kind: 'no_such_name' });
    expect(await client.query('nobody.rest', 'NS')).toMatchObject({ kind: 'no_such_name' });
    expect(await client.query('dangling.cafe.rest', 'A')).toMatchObject({ kind: 'no_such_name' });
  });
});

describe('a failed query', () => {
  test.each([
    ['servfail', 'server_failure'],
    ['refused', 'refused'],
    ['garbage', 'malformed'],
  ] as const)('reports %s', async (kind, failure) => {
    const { dns, client } = await cafe();
    dns.faults.set({ kind });
    expect(await client.query('cafe.rest', 'A')).toEqual({ kind: 'unanswered', failure });
  });

  test('ends with the timeout if the server is silent', async () => {
    const { dns, client } = await cafe({ timeoutMs: 50 });
    dns.faults.set({ kind: 'silence' });
    expect(await client.query('cafe.rest', 'A')).toEqual({ kind: 'unanswered', failure: 'timeout' });
  });

  test('ends if aliases are circular', async () => {
    const { client } = await cafe();
    expect(await client.query('first.cafe.rest', 'A')).toEqual({
      kind: 'unanswered',
      failure: expect.stringMatching(/alias_loop|server_failure/),
    });
  });

  test('ends if aliases are circular and the server doesn’t follow them', async () => {
    const { dns, addresses } = await cafe();
    const [address = ''] = addresses;
    const client = createTestDnsClient(dns, { resolvers: [{ address, port: dns.port }] });
    expect(await client.query('first.cafe.rest', 'A')).toEqual({ kind: 'unanswered', failure: 'alias_loop' });
  });

  test('reports a referral, not an empty answer', async () => {
    const { dns } = await cafe();
    const address = dns.world.getAddress('a.nic.rest') ?? '';
    const client = createTestDnsClient(dns, { resolvers: [{ address, port: dns.port }] });
    expect(await client.query('cafe.rest', 'MX')).toEqual({ kind: 'unanswered', failure: 'referral' });
  });

  test('reports a server failure if the nameservers don’t have the zone', async () => {
    const { dns, client } = await cafe();
    dns.world.drop('cafe.rest', ['ns1.host.example', 'ns2.host.example']);
    expect(await client.query('cafe.rest', 'A')).toEqual({ kind: 'unanswered', failure: 'server_failure' });
  });

  test('ends at once if there are no servers', async () => {
    const client = createDnsClient({ resolvers: [], mayConnect: () => true });
    expect(await client.query('cafe.rest', 'A')).toEqual({ kind: 'unanswered', failure: 'no_servers' });
  });

  test.each([
    ['a label that is too long', `${'x'.repeat(64)}.rest`],
    ['a name that is too long', `${'x.'.repeat(130)}rest`],
    ['characters that host names can’t have', 'caf\u00e9.rest'],
    ['an empty label', 'cafe..rest'],
  ])('is not sent for %s', async (_case, name) => {
    const { dns, client } = await cafe();
    const answer = { kind: 'unanswered', failure: 'invalid_name' };
    expect(await client.query(name, 'A')).toEqual(answer);
    expect(await client.queryNameserver('127.0.0.1', name, 'A')).toEqual(answer);
    expect(dns.questions).toEqual([]);
  });

  test('is aborted by a signal', async () => {
    const { dns, client } = await cafe({ timeoutMs: 60_000 });
    dns.faults.set({ kind: 'silence' });
    const controller = new AbortController();
    const asked = client.query('cafe.rest', 'A', controller.signal);
    controller.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    await expect(client.query('cafe.rest', 'A', controller.signal)).rejects.toThrow('enough');
  });
});

describe('unsolicited answers', () => {
  test.each(['wrong_id', 'wrong_question', 'wrong_source'] as const)(
    '%s is ignored, and the correct answer after it is used',
    async (kind) => {
      const { dns, client } = await cafe();
      dns.faults.set({ kind, correctResponseFollows: true });
      expect(await client.query('cafe.rest', 'A')).toMatchObject({
        records: ['198.51.100.7', '198.51.100.8'],
      });
    },
  );

  test.each(['wrong_id', 'wrong_question', 'wrong_source'] as const)(
    '%s alone ends with a timeout',
    async (kind) => {
      const { dns, client } = await cafe({ timeoutMs: 100 });
      dns.faults.set({ kind });
      expect(await client.query('cafe.rest', 'A')).toEqual({ kind: 'unanswered', failure: 'timeout' });
    },
  );

  test('records of other names in the correct answer are ignored', async () => {
    const { dns } = await cafe();
    // A referral includes the addresses of nameservers.
    const client = createTestDnsClient(dns);
    expect(await client.query('ns1.host.example', 'A')).toMatchObject({
      records: [dns.world.getAddress('ns1.host.example')],
    });
    expect(await client.queryNameserver(dns.world.getAddress('a.nic.rest') ?? '', 'cafe.rest', 'A')).toEqual({
      kind: 'referral',
      nameservers: ['ns1.host.example', 'ns2.host.example'],
    });
  });

  test('ids and ports differ between queries', async () => {
    const { dns, client } = await cafe();
    for (let n = 0; n < 20; n += 1) await client.query('cafe.rest', 'A');
    expect(new Set(dns.questions.map(({ id }) => id)).size).toBeGreaterThan(15);
    expect(new Set(dns.questions.map(({ clientPort }) => clientPort)).size).toBeGreaterThan(10);
  });
});

describe('long answers', () => {
  test('come over TCP when they are truncated', async () => {
    const { dns, client } = await cafe();
    dns.faults.set({ kind: 'truncate' });
    expect(await client.query('cafe.rest', 'A')).toMatchObject({
      records: ['198.51.100.7', '198.51.100.8'],
    });
    expect(dns.questions.map(({ transport }) => transport)).toEqual(['udp', 'tcp']);
  });

  test('come over UDP up to the EDNS size', async () => {
    const { dns, client } = await cafe();
    const long = Array.from({ length: 4 }, (_, n) => `@ TXT "${String(n).repeat(200)}"`);
    dns.world.serve('cafe.rest', ['ns1.host.example'], long);
    expect(await client.query('cafe.rest', 'TXT')).toMatchObject({ kind: 'records' });
    expect(dns.questions).toMatchObject([{ transport: 'udp', udpPayloadSize: 1_232 }]);
    dns.world.serve(
      'cafe.rest',
      ['ns1.host.example'],
      [...long, ...long.map((line) => line.replace('@ TXT "', '@ TXT "x'))],
    );
    const answer = await client.query('cafe.rest', 'TXT');
    expect(answer.kind === 'records' && answer.records.length).toBe(8);
    expect(dns.questions.map(({ transport }) => transport)).toEqual(['udp', 'udp', 'tcp']);
  });

  test('that exceed the size limit are not read', async () => {
    const { dns, client } = await cafe();
    const lines = Array.from({ length: 150 }, (_, n) => `@ TXT "${String(n).padStart(240, 'x')}"`);
    dns.world.serve('cafe.rest', ['ns1.host.example'], lines);
    expect(await client.query('cafe.rest', 'TXT')).toEqual({ kind: 'unanswered', failure: 'too_large' });
    dns.world.serve('cafe.rest', ['ns1.host.example'], lines.slice(75));
    expect(await client.query('cafe.rest', 'TXT')).toMatchObject({ kind: 'records' });
  });

  test('are requested without EDNS if a server doesn’t know it', async () => {
    const { dns, client } = await cafe();
    dns.faults.set({ kind: 'no_edns' });
    expect(await client.query('cafe.rest', 'A')).toMatchObject({ kind: 'records' });
    expect(dns.questions.map(({ udpPayloadSize }) => udpPayloadSize)).toEqual([1_232, undefined]);
  });

  test('with more than 200 records are dropped', async () => {
    const { dns, client } = await cafe();
    const many = Array.from({ length: 201 }, (_, n) => `@ A 198.51.100.${n}`);
    dns.world.serve('cafe.rest', ['ns1.host.example'], many);
    expect(await client.query('cafe.rest', 'A')).toEqual({ kind: 'unanswered', failure: 'too_large' });
    dns.world.serve('cafe.rest', ['ns1.host.example'], many.slice(1));
    expect(await client.query('cafe.rest', 'A')).toMatchObject({ kind: 'records' });
  });

  test('that are cut off are malformed', async () => {
    const { dns, client } = await cafe();
    dns.faults.set({ kind: 'truncate', match: { transport: 'udp' } });
    dns.faults.set({ kind: 'cut', match: { transport: 'tcp' } });
    expect(await client.query('cafe.rest', 'A')).toEqual({ kind: 'unanswered', failure: 'malformed' });
  });
});

describe('a server that', () => {
  type Reply = (code: number, query: Buffer) => Buffer[];
  const flagged = (query: Buffer, code: number) => {
    query.writeUInt16BE(0x8400 | code, 2);
    return query;
  };
  /** The 12 bytes of the header, with the query's counts, or none. */
  const header: Reply = (code, query) => [flagged(query, code).subarray(0, 12)];
  const zeroed: Reply = (code, query) => [flagged(query.fill(0, 4), code).subarray(0, 12)];
  const whole: Reply = (code, query) => [flagged(query, code)];
  const badVersion: Reply = (_code, query) => {
    const option = Buffer.from([0, 0, 41, 4, 208, 1, 0, 0, 0, 0, 0]);
    return [Buffer.concat([flagged(query, 0).subarray(0, -option.length), option])];
  };

  /** @param answer the packets for a query, which may have EDNS */
  async function serveDns(answer: (query: Buffer, edns: boolean) => Buffer[]) {
    const asked: boolean[] = [];
    const server = createSocket('udp4', (query, { port, address }) => {
      const edns = query.readUInt16BE(10) > 0;
      asked.push(edns);
      for (const packet of answer(query, edns)) server.send(packet, port, address);
    });
    await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const resolvers = [{ address: '127.0.0.1', port: server.address().port }];
    const client = createDnsClient({ resolvers, mayConnect: () => true, timeoutMs: 500, rounds: 1 });
    return { client, asked };
  }
  const encodeA = (query: Buffer) =>
    encode({
      type: 'response',
      id: query.readUInt16BE(0),
      questions: [{ name: 'cafe.rest', type: 'A', class: 'IN' }],
      answers: [{ name: 'cafe.rest', type: 'A', class: 'IN', ttl: 60, data: '198.51.100.7' }],
    });

  test.each<[string, number, Reply]>([
    ['FORMERR and only a header', 1, header],
    ['FORMERR and a header without counts', 1, zeroed],
    ['FORMERR and the question', 1, whole],
    ['NOTIMP and only a header', 4, header],
    ['NOTIMP and the question', 4, whole],
    ['SERVFAIL and only a header', 2, header],
    ['REFUSED and a header without counts', 5, zeroed],
    ['BADVERS', 16, badVersion],
  ])('answers EDNS with %s is asked again without it', async (_what, code, reply) => {
    const { client, asked } = await serveDns((query, edns) => (edns ? reply(code, query) : [encodeA(query)]));
    const answer = await client.queryNameserver('127.0.0.1', 'cafe.rest', 'A');
    expect(answer).toMatchObject({ kind: 'records', records: ['198.51.100.7'] });
    expect(asked).toEqual([true, false]);
  });

  test.each<[string, number, Reply, string]>([
    ['REFUSED', 5, header, 'refused'],
    ['SERVFAIL', 2, zeroed, 'server_failure'],
    ['FORMERR', 1, header, 'unexpected_code'],
    ['NOTIMP', 4, header, 'unexpected_code'],
  ])('answers everything with only the code %s gives no answer', async (_what, code, reply, failure) => {
    const { client } = await serveDns((query) => reply(code, query));
    expect(await client.query('cafe.rest', 'A')).toEqual({ kind: 'unanswered', failure });
  });

  test('answers only with a header says nothing about the name', async () => {
    for (const code of [0, 3]) {
      const { client } = await serveDns((query) => header(code, query));
      expect(await client.query('cafe.rest', 'A')).toEqual({ kind: 'unanswered', failure: 'timeout' });
    }
  });

  test('is imitated with another id or question is waited for', async () => {
    const forged = (query: Buffer) => {
      const otherId = Buffer.from(query);
      otherId.writeUInt16BE((query.readUInt16BE(0) + 1) % 65_536, 0);
      const otherName = Buffer.from(query);
      otherName[13] = 0x78;
      const unanswered = Buffer.from(query).subarray(0, 12).fill(0, 2);
      return [...header(5, otherId), ...whole(5, otherName), unanswered, encodeA(query)];
    };
    const { client, asked } = await serveDns(forged);
    expect(await client.query('cafe.rest', 'A')).toMatchObject({ kind: 'records' });
    expect(asked).toEqual([true]);
  });
});

describe('several resolvers', () => {
  test('are asked in turn if one fails, and again in the next round', async () => {
    const [bad, good] = [await cafe(), await cafe()];
    const resolvers = [bad, good].map(({ dns }) => ({ address: '127.0.0.1', port: dns.port }));
    bad.dns.faults.set({ kind: 'servfail' });
    expect(await createTestDnsClient(bad.dns, { resolvers }).query('cafe.rest', 'A')).toMatchObject({
      kind: 'records',
    });
    good.dns.faults.set({ kind: 'refused', times: 1 });
    expect(
      await createTestDnsClient(bad.dns, { resolvers, rounds: 2 }).query('cafe.rest', 'A'),
    ).toMatchObject({
      kind: 'records',
    });
    expect(bad.dns.questions).toHaveLength(3);
  });

  test('are skipped at once if they are down', async () => {
    const { dns } = await cafe();
    const socket = createSocket('udp4');
    await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
    const { port } = socket.address();
    await new Promise<void>((done) => socket.close(done));
    const resolvers = [
      { address: '127.0.0.1', port },
      { address: '127.0.0.1', port: dns.port },
    ];
    const client = createTestDnsClient(dns, { resolvers, timeoutMs: 600_000 });
    expect(await client.query('cafe.rest', 'A')).toMatchObject({ kind: 'records' });
  });
});

describe('one nameserver', () => {
  test('is asked without recursion, and reports its authority', async () => {
    const { dns, addresses, client } = await cafe();
    const [address = ''] = addresses;
    expect(await client.queryNameserver(address, 'cafe.rest', 'A')).toEqual({
      kind: 'records',
      records: ['198.51.100.7', '198.51.100.8'],
      authoritative: true,
      ttlSeconds: 60,
    });
    expect(dns.questions).toMatchObject([{ server: 'ns1.host.example', recursionDesired: false }]);
    dns.faults.set({ kind: 'not_authoritative' });
    expect(await client.queryNameserver(address, 'cafe.rest', 'A')).toMatchObject({ authoritative: false });
  });

  test('refuses other zones', async () => {
    const { addresses, client } = await cafe();
    const [address = ''] = addresses;
    expect(await client.queryNameserver(address, 'other.rest', 'A')).toEqual({
      kind: 'unanswered',
      failure: 'refused',
    });
  });

  test('reports an alias without its records', async () => {
    const { addresses, client } = await cafe();
    const [address = ''] = addresses;
    expect(await client.queryNameserver(address, 'shop.cafe.rest', 'A')).toEqual({
      kind: 'alias',
      target: 'shops.elsewhere.example',
      authoritative: true,
    });
  });

  test('reports the DS of a delegation when asked at the parent', async () => {
    const { dns, client } = await cafe();
    dns.world.delegate('cafe.rest', ['ns1.host.example'], ['1 13 2 ab']);
    const address = dns.world.getAddress('a.nic.rest') ?? '';
    expect(await client.queryNameserver(address, 'cafe.rest', 'NS')).toMatchObject({
      kind: 'referral',
      nameservers: ['ns1.host.example'],
    });
    expect(await client.queryNameserver(address, 'cafe.rest', 'DS')).toMatchObject({
      kind: 'records',
      records: [{ keyTag: 1 }],
    });
  });

  test('is not asked at a forbidden address', async () => {
    const { dns, addresses } = await cafe();
    const [address = ''] = addresses;
    const client = createTestDnsClient(dns, { mayConnect: () => false });
    expect(await client.queryNameserver(address, 'cafe.rest', 'A')).toEqual({
      kind: 'unanswered',
      failure: 'private_address',
    });
    expect(dns.questions).toEqual([]);
  });
});
