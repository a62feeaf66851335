import { expect, test } from 'vitest';
import { getSystemDnsServers, parseDnsServers } from '../../../src/registry/dns/servers.ts';

test('a list is read with and without ports, and without duplicates', () => {
  expect(
    parseDnsServers('192.0.2.1, 192.0.2.2:5353,2001:db8::1 , [2001:db8::2]:54,[2001:db8::3],192.0.2.1:53'),
  ).toEqual([
    { address: '192.0.2.1', port: 53 },
    { address: '192.0.2.2', port: 5353 },
    { address: '2001:db8::1', port: 53 },
    { address: '2001:db8::2', port: 54 },
    { address: '2001:db8::3', port: 53 },
  ]);
});

test.each([
  '',
  '192.0.2.1,',
  'dns.example',
  '192.0.2.1:0',
  '192.0.2.1:65536',
  '192.0.2.1:x',
  '192.0.2',
  '[192.0.2.1]:53',
  '[2001:db8::1',
  '192.0.2.1:53:53',
])('“%s” is refused', (text) => {
  expect(parseDnsServers(text)).toBeUndefined();
});

test('the system’s servers are read', () => {
  for (const { address, port } of getSystemDnsServers()) {
    expect(address).not.toContain('[');
    expect(port).toBeGreaterThan(0);
  }
});
