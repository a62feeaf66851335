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
const render = (event: TeamEvent) => {
  const message = buildLedgerAlert(event);
  return message === undefined ? undefined : JSON.stringify(message);
};

test.each(LEDGER_DIFFERENCES)('the alert about %s links to the documentation', (code) => {
  const text = render({ ...common, kind: 'ledger_differs', differences: [{ code, count: 3, first: 12 }] });
  expect(text).toContain('The ledger doesn’t match the log');
  expect(text).toContain('(3)');
  expect(text).toContain('docs/ledger.md');
});

test('the alert about a restored backup names the seal after which numbers are used again', () => {
  const takenAt = '2026-11-24T04:00:00.000Z';
  expect(render({ ...common, kind: 'database_restored', takenAt, seal: 812 })).toContain(
    'continues after seal 812',
  );
});

test('the alert about unsealed events says what still works', () => {
  expect(render({ ...common, kind: 'sealing_stalled' })).toContain('Orders continue');
});

test('forgotten events cause no alert', () => {
  expect(
    render({ ...common, kind: 'events_forgotten', reason: 'age', count: 2, seqs: [[1, 2]], leaves: [] }),
  ).toBeUndefined();
});
