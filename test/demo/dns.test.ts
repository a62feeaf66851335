import { startSandboxService } from '@domain-steward/sandbox-service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DemoDns, startDemoDns } from '../../demo/dns.ts';

/*
 * The demo's registries follow the service. A theft bypasses it, and must survive the bot's later requests.
 */

const CONTEXT = 4;
let service: Awaited<ReturnType<typeof startSandboxService>>;
let dns: DemoDns;

beforeAll(async () => {
  service = await startSandboxService();
  dns = await startDemoDns(service, [CONTEXT]);
});
afterAll(async () => {
  await dns.close();
  await service.close();
});

test('a stolen delegation survives later requests', async () => {
  const { sandbox } = dns;
  if (sandbox === undefined) throw new Error('this machine cannot run the demo’s DNS');
  await sandbox.addNameserver('ns1.thief.example');
  sandbox.world.serve('cafe.rest', ['ns1.thief.example'], []);
  sandbox.world.delegate('cafe.rest', ['ns1.thief.example']);
  dns.syncDelegations();
  expect(JSON.stringify(sandbox.world.resolve('cafe.rest', 'NS').answers)).toContain('ns1.thief.example');
});
