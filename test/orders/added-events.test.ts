import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { HOUR_MS, newGate, type Rig, startRig, waitUntil } from './rig.ts';
import { newServiceError, SUCCESS_ENVELOPE } from './scripted-service.ts';

/*
 * An attacker with write access adds an event that allows a retry, and resets the rows to match.
 * `mandates/used-up.test.ts` does the same with a failure that would free the amount spent by a mandate.
 */

let rig: Rig;
beforeAll(async () => {
  rig = await startRig();
});
beforeEach(() => rig.reset());
afterAll(() => rig.end());

/** Forges the event of a retry from that of the newest request. */
const FORGE_RETRY_SQL = `
  INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
  SELECT subject_kind, subject_id, 'retry_scheduled', actor, at, data || jsonb_build_object(
    'retryReason', '{"code": "busy"}'::jsonb, 'until', at, 'botSignature', 'AAAA', 'version', (data->>'version')::int + 1)
  FROM events WHERE subject_id = $1 AND kind = 'sending' ORDER BY seq DESC LIMIT 1`;
const COPY_RETRY_SQL = `
  INSERT INTO events (subject_kind, subject_id, kind, actor, at, data)
  SELECT subject_kind, subject_id, kind, actor, at, data FROM events
  WHERE subject_id = $1 AND kind = 'retry_scheduled' ORDER BY seq LIMIT 1`;

test.each([
  ['a forged retry', FORGE_RETRY_SQL],
  ['a copy of its earlier retry', COPY_RETRY_SQL],
])('a paid request without a response isn’t sent again after %s', async (_what, insertSql) => {
  const order = await rig.requestApprovedRenewal('cafe.rest');
  rig.service.answer = async () => {
    throw newServiceError('busy', { retryAfterMs: 1_000, httpStatus: 429 });
  };
  await rig.runDue();
  rig.advanceClock(HOUR_MS);
  const responseGate = newGate();
  rig.service.answer = async () => {
    await responseGate.opened;
    return SUCCESS_ENVELOPE;
  };
  const sending = rig.runDue();
  await waitUntil('the second request is sent', () => rig.service.received.length === 2);
  await rig.sql(insertSql, order.id);
  await rig.sql(
    `UPDATE order_items SET state = 'WAITING', sent_at = NULL, attempts = 0 WHERE order_id = $1`,
    order.id,
  );
  await rig.sql(
    `UPDATE orders SET state = 'APPROVED', worker_id = NULL, lease_until = NULL, due_at = now(), version = version + 1
     WHERE id = $1`,
    order.id,
  );
  rig.service.answer = async () => SUCCESS_ENVELOPE;
  await rig.startProcess().execute(order.id);
  expect(rig.service.received).toHaveLength(2);
  expect(await rig.read(order.id)).toMatchObject({
    state: 'FAILED',
    items: [{ result: { summary: { code: 'log_differs' }, lateOutcome: 'UNKNOWN' } }],
  });
  responseGate.open();
  await sending;
  expect(await rig.read(order.id)).toMatchObject({ items: [{ result: { lateOutcome: 'SUCCEEDED' } }] });
});
