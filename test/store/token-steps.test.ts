import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { UsedTokenSteps } from '../../src/accounts/account.ts';
import type { Database } from '../../src/store/database.ts';
import { createTokenStepStore } from '../../src/store/token-steps.ts';
import { useTestDatabase } from '../support/database.ts';

const STEP = 58_000_000;

let database: Database;
useTestDatabase((opened) => {
  database = opened;
});
let steps: UsedTokenSteps;

beforeAll(async () => {
  steps = createTokenStepStore(database);
});
beforeEach(async () => {
  await database.prisma.tokenStep.deleteMany();
});

test('one of 20 concurrent claims of a step succeeds, and the others get the used step', async () => {
  for (const step of [STEP, STEP + 1]) {
    const results = await Promise.all(Array.from({ length: 20 }, () => steps.claimStep('tina', step)));
    expect(results.filter((usedStep) => usedStep === undefined)).toHaveLength(1);
    expect(results.filter((usedStep) => usedStep === step)).toHaveLength(19);
  }
});

test('an earlier step counts as used too, separately for each user, in any letter case', async () => {
  expect(await steps.claimStep('Tina', STEP)).toBeUndefined();
  expect(await steps.claimStep('tina', STEP - 1)).toBe(STEP);
  expect(await steps.claimStep('TINA', STEP)).toBe(STEP);
  expect(await steps.claimStep('anna', STEP)).toBeUndefined();
});

test('a released step can be used again, and no other step is released with it', async () => {
  await steps.claimStep('tina', STEP);
  await steps.releaseStep('tina', STEP);
  expect(await steps.claimStep('tina', STEP - 1)).toBe(STEP - 1);
  expect(await steps.claimStep('tina', STEP)).toBeUndefined();
  await steps.claimStep('tina', STEP + 1);
  await steps.releaseStep('tina', STEP);
  expect(await steps.claimStep('tina', STEP + 1)).toBe(STEP + 1);
});

test('a step from a clock that is far ahead doesn’t block a later claim', async () => {
  await steps.claimStep('tina', STEP + 10_000);
  expect(await steps.claimStep('tina', STEP)).toBeUndefined();
  expect(await steps.claimStep('tina', STEP)).toBe(STEP);
});
