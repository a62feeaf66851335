import { describe, expect, test } from 'vitest';
import { CALLS_FOR_THE_LOG, type Exempt, filesIn, findIn, textsOf } from '../support/sentences.ts';

/*
 * What the bot says stands in the views. What declares a command or a form says there how it looks: the words of its row, of
 * its fields, and of what their schemas refuse.
 */

/** Words of commands, forms and fields; `what` names something for the log. */
const DECLARED: Exempt = {
  calls: new RegExp(`${CALLS_FOR_THE_LOG.source}|^(?:z\\s*\\.[^]*|\\w*[fF]ields?|\\w*Reason)$`),
  properties: /^(?:usage|summary|example|title|submit|label|hint|placeholder|options|what)$/,
};

function sentencesIn(source: string): string[] {
  return textsOf(3, source, DECLARED);
}

/** Files that say something although they are no views. */
const NOT_YET: ReadonlySet<string> = new Set([
  'slack/attached-text.ts',
  'slack/bulk/bulk-messages.ts',
  'slack/bulk/bulk-plan.ts',
  'slack/bulk/bulk.ts',
  'slack/inbound/authorize.ts',
  'slack/inbound/deliveries.ts',
  'slack/inbound/error-message.ts',
  'slack/inbound/receiver.ts',
  'slack/inbound/submission.ts',
  'slack/log/actor-names.ts',
  'slack/log/audit.ts',
  'slack/orders/domains.ts',
  'slack/orders/order-buttons.ts',
  'slack/orders/order-form.ts',
  'slack/orders/order-look.ts',
  'slack/orders/order-messages.ts',
  'slack/orders/ordering.ts',
  'slack/orders/orders.ts',
  'slack/orders/prereg.ts',
  'slack/orders/presets.ts',
  'slack/orders/redirects.ts',
  'slack/orders/ssl-contacts.ts',
  'slack/orders/users.ts',
  'slack/send-file.ts',
]);

describe('a sentence is found', () => {
  test.each([
    ["call.respond('Nothing was changed.');", 1],
    ['const result = { say: `It was put back.` };', 1],
    ["const A = 'Only the person who asked can confirm.';", 1],
    ["const ROW = { usage: 'watch NAME [DAY]', summary: 'Put a name on the watch list' };", 0],
    ["const NAME = field({ label: 'The whole name', kind: 'text' }, z.string('Give the name.'));", 0],
    ["const DAYS = z\n  .string()\n  .regex(/a/, 'Give a whole number.');", 0],
    ["deps.log.warn({ err }, 'asking whether somebody is an admin');", 0],
  ])('%s: %i', (source, count) => {
    expect(sentencesIn(source)).toHaveLength(count);
  });
});

const FILES = filesIn('slack').filter((file) => !file.endsWith('.view.ts'));

test('sentences stand in views', () => {
  expect(FILES.length).toBeGreaterThan(80);
  expect(
    findIn(
      FILES.filter((file) => !NOT_YET.has(file)),
      sentencesIn,
    ),
  ).toEqual([]);
});

test.each([...NOT_YET])('%s still says something', (file) => {
  expect(findIn([file], sentencesIn)).not.toEqual([]);
});
