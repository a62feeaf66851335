import { describe, expect, test } from 'vitest';
import { createFact, createUnknownFact } from '../../src/names/facts.ts';
import { createLookupPlanner } from '../../src/names/lookup-planner.ts';
import { createDelegationObserver, NO_FAULTS } from '../../src/names/observe-delegation.ts';
import type { RdapAnswer } from '../../src/registry/rdap/client.ts';
import { createTestDnsClient, serveName, startDns } from '../registry/dns/sandbox-dns.ts';

const HOSTS = ['ns1.host.example', 'ns2.host.example'];
const NOW = new Date('2026-11-22T00:00:00Z');
const never = new AbortController().signal;
const server = { server: 'rdap.example', isSecure: true };
const endingOn = (date: string): RdapAnswer => ({
  ...{ kind: 'answered', ...server },
  body: {
    objectClassName: 'domain',
    ldhName: 'host.example',
    events: [{ eventAction: 'expiration', eventDate: date }],
  },
});

/** A name at two servers, and the record of their domain. */
async function arrange(
  record: RdapAnswer = endingOn('2028-01-01T00:00:00Z'),
  hosts: readonly string[] = HOSTS,
) {
  const dns = await startDns();
  await serveName(dns, 'cafe.rest', ['@ A 198.51.100.7']);
  const queried: string[] = [];
  const observe = createDelegationObserver(
    createTestDnsClient(dns, { timeoutMs: 200 }),
    {
      fetchRecord: async (domain) => {
        queried.push(domain);
        return record;
      },
      close: async () => undefined,
    },
    createLookupPlanner(3_600),
    () => NOW,
  );
  return { dns, queried, lookUp: () => observe('cafe.rest', hosts, never) };
}

describe('the servers of a delegation', () => {
  test('that all answer for the name have no fault', async () => {
    const { lookUp } = await arrange();
    expect(await lookUp()).toEqual(NO_FAULTS);
  });

  test('that do not know the name are lame', async () => {
    const { dns, lookUp } = await arrange();
    dns.world.drop('cafe.rest', ['ns2.host.example']);
    expect(await lookUp()).toEqual({ ...NO_FAULTS, lame_nameservers: createFact(['ns2.host.example']) });
  });

  test('without a response are silent, not lame', async () => {
    const { dns, lookUp } = await arrange();
    dns.faults.set({ kind: 'silence', match: { server: 'ns2.host.example' } });
    expect(await lookUp()).toMatchObject({
      lame_nameservers: { state: 'absent' },
      silent_nameservers: createFact(['ns2.host.example']),
    });
  });

  test('without an address are reported', async () => {
    const { lookUp } = await arrange(undefined, ['ns1.host.example', 'ns9.host.example']);
    expect(await lookUp()).toMatchObject({ addressless_nameservers: createFact(['ns9.host.example']) });
  });

  test('with keys that match no DS are reported', async () => {
    const { dns, lookUp } = await arrange();
    dns.world.delegate('cafe.rest', HOSTS, [`1 13 2 ${'ab'.repeat(32)}`]);
    expect(await lookUp()).toMatchObject({ mismatched_ds: createFact(HOSTS) });
  });
});

describe('the domain of a nameserver', () => {
  test('that the registry doesn’t know can be registered, and is queried once', async () => {
    const hosts = ['ns1.gone.example', 'ns2.gone.example'];
    const { queried, lookUp } = await arrange({ kind: 'not_found', ...server }, hosts);
    expect(await lookUp()).toMatchObject({ registrable_domains: createFact(['gone.example']) });
    await lookUp();
    expect(queried).toEqual(['gone.example']);
  });

  test('whose servers have addresses is taken, whatever its registry says', async () => {
    const { lookUp } = await arrange({ kind: 'not_found', ...server });
    expect(await lookUp()).toMatchObject({ registrable_domains: { state: 'absent' } });
  });

  test('can be registered even if its servers can’t be queried', async () => {
    const { dns, lookUp } = await arrange({ kind: 'not_found', ...server }, ['ns9.gone.example']);
    dns.faults.set({ kind: 'servfail', match: { name: 'ns9.gone.example' } });
    expect(await lookUp()).toMatchObject({ registrable_domains: createFact(['gone.example']) });
  });

  test('with a delegation is taken, since not every registry publishes all records', async () => {
    const { dns, lookUp } = await arrange({ kind: 'not_found', ...server }, ['ns9.host.example']);
    dns.world.serve('host.example', ['ns1.host.example'], ['@ A 198.51.100.1']);
    dns.world.delegate('host.example', ['ns1.host.example']);
    expect(await lookUp()).toMatchObject({ registrable_domains: { state: 'absent' } });
  });

  test('that expires within 30 days is reported', async () => {
    const { lookUp } = await arrange(endingOn('2026-12-10T00:00:00Z'));
    expect(await lookUp()).toMatchObject({ expiring_domains: createFact(['host.example']) });
  });

  test.each<[string, RdapAnswer]>([
    ['does not answer', { kind: 'unavailable', problem: { code: 'timeout' } }],
    ['publishes no records', { kind: 'unavailable', problem: { code: 'no_public_record' } }],
  ])('at a registry that %s is unseen, not free', async (_case, record) => {
    const { lookUp } = await arrange(record);
    expect(await lookUp()).toMatchObject({
      registrable_domains: createUnknownFact('registry_unavailable'),
      expiring_domains: createUnknownFact('registry_unavailable'),
    });
  });
});
