import { Resolver } from 'node:dns/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type SandboxDns, startSandboxDns } from '../src/dns/server.ts';

let currentDns: SandboxDns | undefined;

afterEach(async () => {
  await currentDns?.close();
  currentDns = undefined;
});

/** Node's resolver is an independent client. */
function createNodeResolver(server: string): Resolver {
  const resolver = new Resolver({ timeout: 2_000, tries: 1 });
  resolver.setServers([server]);
  return resolver;
}

async function startDns(): Promise<{ dns: SandboxDns; resolver: Resolver }> {
  currentDns = await startSandboxDns();
  await currentDns.addNameserver('ns1.host.example');
  currentDns.world.serve(
    'cafe.rest',
    ['ns1.host.example'],
    ['@ A 198.51.100.7', '@ MX 10 mail.cafe.rest', '@ TXT "v=spf1 -all"', 'www CNAME cafe.rest'],
  );
  currentDns.world.delegate('cafe.rest', ['ns1.host.example']);
  return { dns: currentDns, resolver: createNodeResolver(currentDns.resolver) };
}

describe('the resolver', () => {
  it('answers questions from the scripted zones', async () => {
    const { resolver } = await startDns();
    expect(await resolver.resolve4('www.cafe.rest')).toEqual(['198.51.100.7']);
    expect(await resolver.resolveMx('cafe.rest')).toEqual([{ priority: 10, exchange: 'mail.cafe.rest' }]);
    expect(await resolver.resolveTxt('cafe.rest')).toEqual([['v=spf1 -all']]);
    expect(await resolver.resolveNs('cafe.rest')).toEqual(['ns1.host.example']);
    expect(await resolver.resolveNs('rest')).toEqual(['a.nic.rest']);
    expect((await resolver.resolveSoa('cafe.rest')).nsname).toBe('ns1.host.example');
  });

  it('responds that a name or type doesn’t exist', async () => {
    const { resolver } = await startDns();
    await expect(resolver.resolve6('cafe.rest')).rejects.toMatchObject({ code: 'ENODATA' });
    await expect(resolver.resolve4('nobody.rest')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('fails if its nameservers fail or the delegation is removed', async () => {
    const { dns, resolver } = await startDns();
    dns.world.drop('cafe.rest', ['ns1.host.example']);
    await expect(resolver.resolve4('cafe.rest')).rejects.toMatchObject({ code: 'ESERVFAIL' });
    dns.world.undelegate('cafe.rest');
    await expect(resolver.resolve4('cafe.rest')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('sends long answers over TCP', async () => {
    const { dns, resolver } = await startDns();
    const longRecords = Array.from({ length: 20 }, (_, n) => `@ TXT "${String(n).repeat(100)}"`);
    dns.world.serve('cafe.rest', ['ns1.host.example'], longRecords);
    expect(await resolver.resolveTxt('cafe.rest')).toHaveLength(20);
    expect(dns.questions.at(-1)?.transport).toBe('tcp');
  });
});

describe('faults', () => {
  it('affect matching questions, a given number of times', async () => {
    const { dns, resolver } = await startDns();
    dns.faults.set({ kind: 'servfail', match: { name: 'cafe.rest', type: 'A' }, times: 1 });
    expect(await resolver.resolveNs('cafe.rest')).toHaveLength(1);
    await expect(resolver.resolve4('cafe.rest')).rejects.toMatchObject({ code: 'ESERVFAIL' });
    expect(await resolver.resolve4('cafe.rest')).toEqual(['198.51.100.7']);
  });

  it('with a wrong ID are ignored by an independent client', async () => {
    const { dns, resolver } = await startDns();
    dns.faults.set({ kind: 'wrong_id', correctResponseFollows: true });
    expect(await resolver.resolve4('cafe.rest')).toEqual(['198.51.100.7']);
  });
});

it('an invalid record or nameserver throws', async () => {
  const { dns } = await startDns();
  expect(() => dns.world.serve('cafe.rest', ['ns1.host.example'], ['@ LOC here'])).toThrow('@ LOC here');
  expect(() => dns.world.serve('cafe.rest', ['nobody.example'], [])).toThrow('nobody.example');
});
