import { startSandboxService } from '@domain-steward/sandbox-service';
import { expect, test } from 'vitest';
import { seeded } from '../support/seeded.ts';

test('a rude sandbox gives the same answers in other forms, the same for the same seed', async () => {
  const forms = async (seed: number) => {
    const service = await startSandboxService({ rude: seeded(seed) });
    const found: (string | null)[] = [];
    for (let n = 0; n < 12; n += 1) {
      const response = await fetch(new URL('/rdap/domain/cafe.rest', service.rdapBootstrapUrl));
      found.push(response.headers.get('content-encoding'));
      expect(await response.json()).toMatchObject({ objectClassName: 'domain', ldhName: 'cafe.rest' });
    }
    await service.close();
    return found;
  };
  const first = await forms(7);
  expect(new Set(first).size, 'several forms').toBeGreaterThan(2);
  expect(await forms(7)).toEqual(first);
});
