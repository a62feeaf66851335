import { type SandboxService, startSandboxService } from '@domain-steward/sandbox-service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseRegistryAnswer } from '../../src/names/registry-record.ts';

const AT = new Date('2027-01-01T00:00:00Z');
let service: SandboxService;
beforeAll(async () => {
  service = await startSandboxService();
});
afterAll(() => service.close());

async function recordOf(name: string) {
  const response = await fetch(new URL(`/rdap/domain/${name}`, service.rdapBootstrapUrl));
  const body = await response.text();
  return { coding: response.headers.get('content-encoding'), body };
}

test('a rude sandbox varies the encoding of its responses by seed, but not their content', async () => {
  const listEncodings = async (seed: number | undefined) => {
    const rude = await startSandboxService({ rude: seed });
    const found: (string | null)[] = [];
    for (let n = 0; n < 12; n += 1) {
      const response = await fetch(new URL('/rdap/domain/cafe.rest', rude.rdapBootstrapUrl));
      found.push(response.headers.get('content-encoding'));
      expect(await response.json()).toMatchObject({ objectClassName: 'domain' });
    }
    await rude.close();
    return found;
  };
  const first = await listEncodings(7);
  expect(new Set(first).size, 'number of encodings').toBeGreaterThan(2);
  expect(await listEncodings(7)).toEqual(first);
  expect(await listEncodings(8)).not.toEqual(first);
  expect(new Set(await listEncodings(undefined))).toEqual(new Set([null]));
});

test('a record has the same facts in every registry’s format', async () => {
  service.registry.show('cafe.rest', { registrar: { ianaId: '292', name: 'Proper Registrar GmbH' } });
  service.registry.show('cafe.rest', { statuses: ['active', 'client transfer prohibited'] });
  const readFacts = async (seed: number | undefined) => {
    service.rude.seed = seed;
    const { body } = await recordOf('cafe.rest');
    const answer = {
      kind: 'answered',
      body: JSON.parse(body),
      server: 'rdap.example',
      isSecure: true,
    } as const;
    return { body, ...parseRegistryAnswer(answer, 'cafe.rest', AT) };
  };
  const { body, facts, result } = await readFacts(undefined);
  const bodies = new Set([body]);
  for (let seed = 0; seed < 120; seed += 1) {
    const read = await readFacts(seed);
    expect(read.facts, `seed ${seed}: ${read.body}`).toEqual(facts);
    expect(read.result).toEqual(result);
    bodies.add(read.body);
  }
  expect(bodies.size, 'number of formats').toBeGreaterThan(20);
});
