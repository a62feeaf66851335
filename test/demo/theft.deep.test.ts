import { expect, test } from 'vitest';
import { performAndWaitForView, readCommandReply, until, useTestDemo } from '../support/demo.ts';

/* The second path of the guide: deleting a name in use needs a confirmation, and a theft is reported. */

const t = useTestDemo({ speedup: 8 });

test('deleting a name in use requires typing its name', async () => {
  // The first reply may come before the DNS lookups have ended.
  await until('the impact of the deletion is known', async () =>
    /Mail will stop working/.test(await readCommandReply(t.workspace, t.alice, '/domain delete cafe.rest')),
  );
  const draft = t.alice.ephemerals().at(-1);
  if (draft === undefined) throw new Error('no confirmation was requested');
  const form = await performAndWaitForView(t.workspace, t.alice, () => t.alice.click(draft, 'order_confirm'));
  expect(form.callback_id).toBe('confirm');
});

test('a theft opens one incident within a minute', async () => {
  await t.demo.playTheft();
  const incidents = t.workspace
    .messages('C0EXPIRY')
    .filter(
      ({ metadata, thread_ts }) => metadata?.event_type === 'domain_incident' && thread_ts === undefined,
    );
  expect(incidents).toHaveLength(1);
  const kinds = String(incidents[0]?.metadata?.event_payload['kinds']).split(',');
  expect(kinds).toEqual(expect.arrayContaining(['registrar', 'nameservers']));
}, 90_000);
