import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createMissingKeyLogger } from '../../src/accounts/missing-keys.ts';
import { createLog } from '../../src/lib/log.ts';

test('each missing key is logged at most once a minute', () => {
  const lines: string[] = [];
  const log = createLog(
    'info',
    new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk));
        done();
      },
    }),
  );
  let now = new Date('2026-03-01T09:00:00Z');
  const reportMissing = createMissingKeyLogger(log, () => now);
  const countLogged = (keyId: string) => lines.filter((line) => line.includes(`"keyId":"${keyId}"`)).length;

  for (let times = 0; times < 10; times += 1) reportMissing('2026-03');
  reportMissing('2026-04');
  expect([countLogged('2026-03'), countLogged('2026-04')]).toEqual([1, 1]);
  now = new Date(now.getTime() + 59_999);
  reportMissing('2026-03');
  expect(countLogged('2026-03')).toBe(1);
  now = new Date(now.getTime() + 1);
  reportMissing('2026-03');
  expect(countLogged('2026-03')).toBe(2);
  expect(lines[0]).toContain('CREDENTIALS_KEYS');
});
