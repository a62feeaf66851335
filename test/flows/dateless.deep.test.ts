import { expect, test } from 'vitest';
import { answerTo, until, useTestDemo } from '../support/demo.ts';

/* Some registries, such as that of .de, publish no dates: other known facts are shown, and what to do. */

const t = useTestDemo();
const told = (line: string) => answerTo(t.workspace, t.alice, `/domain ${line}`);

test('a name without a date shows the DNS’s facts and what to do, everywhere', async () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  sandbox.world.serve('laden.de', ['ns1.dns.example'], ['@ A 198.51.100.9']);
  sandbox.world.delegate('laden.de', ['ns1.dns.example']);

  let watched = await told('watch laden.de');
  // After two seconds the waiting person gets the facts known so far.
  await until('the DNS has answered in time', async () => {
    watched = await told('watch laden.de');
    return /DNS delegates it|isn’t in DNS either/.test(watched);
  });
  expect(watched).toMatch(/publishes no dates, so I don’t know when it expires and can’t remind you/);
  expect(watched).toMatch(/DNS delegates it to `ns1\.dns\.example`, so it’s registered/);
  expect(watched).toContain('`/domain watch laden.de 2027-03-01`');
  expect(watched).toContain('invoice');
  expect(watched, 'no dead end').not.toContain('I’ll try again');

  const screen = await told('name laden.de');
  expect(screen).toMatch(/Expiry unknown\*\. The registry publishes no dates.*invoice/s);
  expect(screen).toMatch(/Website\* `198\.51\.100\.9`/);

  const list = await told('expiring 30');
  expect(list).toContain('the registry publishes no dates');
  expect(list).toMatch(/Some registries publish no dates\. To get reminders, enter the date once/);
});

test('with a person’s date it is like any other, and shows the source', async () => {
  const watched = await told('watch shop.de 2030-03-01');
  expect(watched).toMatch(
    /It expires 1 Mar 2030 \(in \d+ days\), date entered manually\. The registry publishes no dates, so I use yours/,
  );
  expect(await told('name shop.de')).toMatch(/Expires 1 Mar 2030.*entered manually/);
});
