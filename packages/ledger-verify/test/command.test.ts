import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { type Event, formatLines, hashSeal, makeLedger } from './make-ledger.ts';

const REPOSITORY_ROOT = fileURLToPath(new URL('../../..', import.meta.url));
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

function runVerifier(text: string, ...args: readonly string[]) {
  const file = join(folder, 'ledger.jsonl');
  writeFileSync(file, text);
  const nodeArgs = ['--import', './scripts/typescript.mjs', 'packages/ledger-verify/src/cli.ts'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeArgs, file, ...args], {
    cwd: REPOSITORY_ROOT,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

it('prints the verdict, and sets the exit code', () => {
  const anchor = `2:${hashSeal(seals[1])}`;
  const provedRun = runVerifier(formatLines(lines), '--key', signer.fingerprint, '--anchor', anchor);
  expect(provedRun).toMatchObject({ status: 0, stderr: '' });
  expect(provedRun.stdout).toContain('5 events (1 to 5) are all there');
  expect(provedRun.stdout).toContain('Anchor 2 fits: everything sealed up to event 5');
  const cutRun = runVerifier(formatLines(lines.slice(0, 5)), '--anchor', anchor, '--json');
  expect(cutRun).toMatchObject({ status: 1, stderr: '' });
  expect(JSON.parse(cutRun.stdout)).toMatchObject({ verdict: 'differs', differences: [{ code: 'cut' }] });
  const lateStartRun = runVerifier(formatLines([...lines.slice(0, 1), ...lines.slice(5)]));
  expect(lateStartRun).toMatchObject({ status: 2, stderr: '' });
  expect(lateStartRun.stdout).toContain('CANNOT TELL');
  const wrongAnchorRun = runVerifier(formatLines(lines), '--anchor', '2:abc');
  expect(wrongAnchorRun).toMatchObject({ status: 2, stdout: '' });
  expect(wrongAnchorRun.stderr).toContain('Usage:');
});
