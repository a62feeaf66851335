import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type Event, formatLines, hashSeal, makeLedger } from './make-ledger.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'ledger-'));
const events = Array.from({ length: 5 }, (_, index): Event => {
  const event = {
    type: 'event' as const,
    seq: index + 1,
    at: '2026-11-25T12:00:00.000Z',
    kind: 'name_watched',
  };
  return { ...event, subject: { kind: 'name', id: 'cafe.rest' }, actor: 'U0ALICE', data: {} };
});
const { lines, seals, signer } = makeLedger(events, [3, 2]);

function run(text: string, ...args: readonly string[]) {
  const file = join(folder, 'ledger.jsonl');
  writeFileSync(file, text);
  const program = ['--import', './scripts/typescript.mjs', 'packages/ledger-verify/src/cli.ts'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...program, file, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

it('prints the verdict, and sets the exit code', () => {
  const anchor = `2:${hashSeal(seals[1])}`;
  const proved = run(formatLines(lines), '--key', signer.fingerprint, '--anchor', anchor);
  expect(proved).toMatchObject({ status: 0, stderr: '' });
  expect(proved.stdout).toContain('5 events (1 to 5) are all there');
  expect(proved.stdout).toContain('Anchor 2 fits: everything sealed up to event 5');
  const cut = run(formatLines(lines.slice(0, 5)), '--anchor', anchor, '--json');
  expect(cut).toMatchObject({ status: 1, stderr: '' });
  expect(JSON.parse(cut.stdout)).toMatchObject({ verdict: 'differs', differences: [{ code: 'cut' }] });
  const late = run(formatLines([...lines.slice(0, 1), ...lines.slice(5)]));
  expect(late).toMatchObject({ status: 2, stderr: '' });
  expect(late.stdout).toContain('CANNOT TELL');
  const wrong = run(formatLines(lines), '--anchor', '2:abc');
  expect(wrong).toMatchObject({ status: 2, stdout: '' });
  expect(wrong.stderr).toContain('Usage:');
});
