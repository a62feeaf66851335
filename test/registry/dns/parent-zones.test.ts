import { expect, test } from 'vitest';
import { createParentZones } from '../../../src/registry/dns/parent-zones.ts';
import { newGate } from '../../orders/rig.ts';
import { createTestDnsClient, startDns } from './sandbox-dns.ts';

test('concurrent lookups of a zone share its queries, and aborting one doesn’t abort the others', async () => {
  const dns = await startDns();
  const client = createTestDnsClient(dns);
  const { opened, open } = newGate();
  const asked: string[] = [];
  const parents = createParentZones(
    {
      ...client,
      query: async (name, type, signal) => {
        asked.push(`${name} ${type}`);
        await opened;
        return client.query(name, type, signal);
      },
    },
    () => new Date(),
  );
  const controller = new AbortController();
  const first = parents.findServers('cafe.rest', controller.signal);
  const second = parents.findServers('bar.rest', new AbortController().signal);
  controller.abort(new Error('too slow'));
  await expect(first).rejects.toThrow('too slow');
  await expect(parents.findServers('deli.rest', controller.signal)).rejects.toThrow('too slow');
  open();
  expect(await second).toHaveLength(1);
  expect(asked.filter((question) => question === 'rest NS')).toEqual(['rest NS']);
});
