import { expect, test } from 'vitest';
import { readCommandReply, until, useTestDemo } from '../support/demo.ts';

/* Some registries, such as DENIC for .de, publish no dates: the bot shows what DNS knows and what to do. */

const t = useTestDemo();
const sendCommand = (line: string) => readCommandReply(t.workspace, t.alice, `/domain ${line}`);

test('every view of a name without a date shows what DNS knows and what to do', async () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  sandbox.world.serve('laden.de', ['ns1.dns.example'], ['@ A 198.51.100.9']);
  sandbox.world.delegate('laden.de', ['ns1.dns.example']);

  let watched = await sendCommand('watch laden.de');
  // The reply after two seconds has only the facts known so far.
  await until('a reply with DNS facts', async () => {
    watched = await sendCommand('watch laden.de');
    return /DNS delegates it|isn’t in DNS either/.test(watched);
  });
  expect(watched).toMatch(/publishes no dates, so I don’t know when it expires and can’t remind you/);
  expect(watched).toMatch(/DNS delegates it to `ns1\.dns\.example`, so it’s registered/);
  expect(watched).toContain('`/domain watch laden.de 2027-03-01`');
  expect(watched).toContain('invoice');
  expect(watched, 'no promise that a retry helps').not.toContain('I’ll try again');

  const nameReply = await sendCommand('name laden.de');
  expect(nameReply).toMatch(/Expiry unknown\*\. The registry publishes no dates.*invoice/s);
  expect(nameReply).toMatch(/Website\* `198\.51\.100\.9`/);

  const list = await sendCommand('expiring 30');
  expect(list).toContain('the registry publishes no dates');
  expect(list).toMatch(/Some registries publish no dates\. To get reminders, enter the date once/);
});

test('a name with a manually entered date shows that date and its source', async () => {
  const watched = await sendCommand('watch shop.de 2030-03-01');
  expect(watched).toMatch(
    /It expires 1 Mar 2030 \(in \d+ days\), date entered manually\. The registry publishes no dates, so I use yours/,
  );
  expect(await sendCommand('name shop.de')).toMatch(/Expires 1 Mar 2030.*entered manually/);
});
