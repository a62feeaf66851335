import { expect, test } from 'vitest';
import { visibleText } from '../../../src/slack/kit/blocks.ts';
import { keysMessage, type ShownKey } from '../../../src/slack/signing/keys.view.ts';

const key = (n: number, more: Partial<ShownKey>): ShownKey => ({
  ...{ fingerprint: `SHA256:${String(n).padStart(43, 'x')}`, owner: `U0PERSON${n}`, label: 'Laptop' },
  ...{ publicKey: '', credential: '', host: 'localhost', addedAt: new Date('2026-11-25T12:00:00Z') },
  ...{ counts: 'yes', through: ['U0ADA'], mayVouch: false, mayRevoke: true },
  ...more,
});

test('of many keys all are shown, and the one that waits has its button though it is the last', () => {
  const revoked = Array.from({ length: 25 }, (_, n) => key(n, { counts: 'revoked', mayRevoke: false }));
  const counting = Array.from({ length: 25 }, (_, n) => key(100 + n, {}));
  const waiting = key(999, { counts: 'not_vouched', mayVouch: true });
  const keys = [...revoked, ...counting, waiting];
  const { blocks } = keysMessage({ keys, hasRoots: true, maySignCharter: false, notice: undefined });
  expect(blocks.length).toBeLessThanOrEqual(50);
  const said = visibleText(blocks);
  for (const { fingerprint } of keys) expect(said).toContain(fingerprint);
  const vouching = { action_id: 'key_vouch', value: waiting.fingerprint };
  expect(blocks).toContainEqual(
    expect.objectContaining({ elements: expect.arrayContaining([expect.objectContaining(vouching)]) }),
  );
});
