import { expect, test } from 'vitest';
import { LEDGER_DIFFERENCES } from '../../src/ledger/difference.ts';
import type { TeamEvent } from '../../src/ledger/events.ts';
import { buildLedgerAlert } from '../../src/slack/ledger/ledger-notifications.ts';

/* Notifications to admins and the alert channel about the ledger. */

const common = {
  subject: { kind: 'ledger', id: 'ledger' },
  actor: 'system',
  at: new Date('2026-11-25T10:00:00Z'),
} as const;
const said = (event: TeamEvent) => {
  const message = buildLedgerAlert(event);
  return message === undefined ? undefined : JSON.stringify(message);
};

test.each(LEDGER_DIFFERENCES)('a difference has its text and where to read what to do: %s', (code) => {
  const text = said({ ...common, kind: 'ledger_differs', differences: [{ code, count: 3, first: 12 }] });
  expect(text).toContain('The ledger doesn’t match the log');
  expect(text).toContain('(3)');
  expect(text).toContain('docs/ledger.md');
});

test('a restored backup has the first number that is used again', () => {
  const takenAt = '2026-11-24T04:00:00.000Z';
  expect(said({ ...common, kind: 'database_restored', takenAt, seal: 812 })).toContain(
    'continues after seal 812',
  );
});

test('unsealed events are reported with what still works', () => {
  expect(said({ ...common, kind: 'sealing_stalled' })).toContain('Orders continue');
});

test('nothing of forgotten events', () => {
  expect(
    said({ ...common, kind: 'events_forgotten', reason: 'age', count: 2, seqs: [[1, 2]], leaves: [] }),
  ).toBeUndefined();
});
