import { expect, test, vi } from 'vitest';
import { createTestDnsClient, serveName, startDns } from './sandbox-dns.ts';

test('concurrent queries share a port up to a limit, and each gets only its own answer', async () => {
  const dns = await startDns();
  await serveName(dns, 'cafe.rest', ['@ A 198.51.100.7', '@ A 198.51.100.8', '@ AAAA 2001:DB8::7']);
  const client = createTestDnsClient(dns);
  const openSockets = () => process.getActiveResourcesInfo().filter((each) => each.startsWith('UDP')).length;
  const before = openSockets();
  const types = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? 'A' : 'AAAA'));
  const answers = await Promise.all(types.map((type) => client.query('cafe.rest', type)));
  for (const [n, answer] of answers.entries()) {
    const records = n % 2 === 0 ? ['198.51.100.7', '198.51.100.8'] : ['2001:db8::7'];
    expect(answer).toMatchObject({ records });
  }
  await vi.waitFor(() => expect(openSockets(), 'sockets left open').toBe(before));
  const ports = [...new Set(dns.questions.map(({ clientPort }) => clientPort))];
  expect(ports).toHaveLength(2);
  for (const port of ports) {
    const questions = dns.questions.filter(({ clientPort }) => clientPort === port);
    expect(questions.length, 'questions from one port').toBeLessThanOrEqual(64);
    expect(new Set(questions.map(({ id }) => id)).size, 'ids from one port').toBe(questions.length);
  }
});
