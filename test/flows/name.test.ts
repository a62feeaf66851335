import { expect, test } from 'vitest';
import { buttonsOf, readCommandReply, until, useTestDemo } from '../support/demo.ts';

/* `/domain name` shows everything known about one name. */

const t = useTestDemo();
const DAY_MS = 86_400_000;

const send = (line: string) => readCommandReply(t.workspace, t.alice, `/domain ${line}`);
const getSandboxDns = () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  return sandbox;
};

/** Advances the clock so that lookups are due, and waits until `/domain name` shows a text. */
async function waitForName(advanceMs: number, expected: RegExp): Promise<string> {
  await t.demo.moveTime(advanceMs);
  let text = '';
  // Names of one registry are looked up one after another.
  await until(`/domain name shows ${expected}`, async () => {
    await t.demo.bot.catchUp();
    text = await send('name cafe.rest');
    return expected.test(text);
  });
  return text;
}

test('an unwatched name is looked up on request', async () => {
  const text = await send('name bar.rest');
  expect(text).toMatch(/bar\.rest/);
  expect(text).toMatch(/Expires .*, according to the registry/);
  expect(text).toMatch(/Nameservers\* `ns1\.dns\.example`, `ns2\.dns\.example`/);
  expect(text).toMatch(/Website\* `198\.51\.100\.8`/);
  expect(text).toMatch(/Mail\* `mail\.cafe\.rest`/);
  expect(text).toMatch(/DNSSEC\* off/);
  expect(text, 'fields that the registry doesn’t publish').toMatch(
    /:grey_question: .*\*Registrar\*: not published by the registry/,
  );
  expect(text).toContain('/domain watch bar.rest');
  expect(text, 'no history').not.toContain('History');
  expect(buttonsOf(t.alice.ephemerals().at(-1) ?? { blocks: [] })).toEqual([]);
});

test('a fact that couldn’t be looked up is shown as unknown, not as empty', async () => {
  getSandboxDns().faults.set({ kind: 'silence', match: { name: 'deli.rest' } });
  const text = await send('name deli.rest');
  getSandboxDns().faults.clear();
  expect(text).toMatch(/Expires .*, according to the registry/);
  expect(text).toMatch(/:grey_question: .*\*Mail servers\*.*: no response in time/);
  expect(text).not.toMatch(/none found|no mail servers|not delegated/);
});

test('CAA issuers are shown, and a failed query isn’t shown as “any CA”', async () => {
  expect(await send('name bar.rest')).toMatch(/CAA\* none \(any CA can issue\)/);
  getSandboxDns().world.serve(
    'bar.rest',
    ['ns1.dns.example', 'ns2.dns.example'],
    [
      '@ A 198.51.100.8',
      '@ CAA 0 issue "letsencrypt.org; validationmethods=dns-01"',
      '@ CAA 0 issuewild ";"',
    ],
  );
  expect(await send('name bar.rest')).toMatch(/CAA\* `letsencrypt\.org`; wildcards: no CA\n/);
  getSandboxDns().faults.set({ kind: 'servfail', match: { name: 'bar.rest', type: 'CAA' } });
  const afterFailedQuery = await send('name bar.rest');
  getSandboxDns().faults.clear();
  expect(afterFailedQuery).toMatch(/:grey_question: .*\*CAA\*.*: the nameservers returned an error/);
  expect(afterFailedQuery).not.toContain('any CA');
});

test('a past expiry date is shown with how to correct it', async () => {
  const text = await send('watch old-menu.rest 2020-01-01');
  expect(text).toMatch(/It expired 1 Jan 2020 \(\d+ days ago\), date entered manually\. To correct it, use/);
  expect(await send('watch new-menu.rest 2035-01-01')).toMatch(
    /It expires 1 Jan 2035 \(in \d+ days\), date entered manually\./,
  );
});

test('a name without a registry record is reported as such', async () => {
  const text = await send('name unheard-of.rest');
  expect(text).toMatch(/The registry has no record of it/);
});

test('the first name in the guide is signed and has no problems', async () => {
  await send('watch cafe.rest');
  let text = '';
  await until('the delegation of cafe.rest is checked', async () => {
    text = await send('name cafe.rest');
    return !text.includes('couldn’t be checked');
  });
  expect(text).toMatch(/DNSSEC\* signed/);
  expect(text).not.toMatch(/:x:/);
});

test('a deleted name shows its deletion, the restore deadline and its missing delegation', async () => {
  await send('watch gone.rest');
  const text = await send('name gone.rest');
  expect(text).toMatch(/It was deleted\.\*.*It can be restored until/);
  expect(text).toMatch(/Nameservers\* none \(not delegated\)/);
  expect(buttonsOf(t.alice.ephemerals().at(-1) ?? { blocks: [] })).toEqual(['reminder_restore', 'name_edit']);
});

test('a watched name without a registry lookup is looked up on request', async () => {
  // The registry gets one query at a time, so at most one of these names has been looked up there.
  const names = ['bar.rest', 'deli.rest', 'gone.rest'];
  for (const name of names) await send(`watch ${name}`);
  for (const name of names) {
    let text = '';
    await until(`a lookup of ${name}`, async () => {
      await t.demo.bot.catchUp();
      text = await send(`name ${name}`);
      return text.includes('No changes since I started watching');
    });
    expect(text, name).toMatch(/DNS checked .*, registry checked /i);
  }
  for (const name of names) await send(`unwatch ${name}`);
});

test('the history of a watched name shows a change once a second lookup confirms it', async () => {
  await send('watch cafe.rest');
  const first = await waitForName(0, /No changes since I started watching/);
  expect(first).toMatch(/Expires .*\(in 2[23] days\)/);
  expect(buttonsOf(t.alice.ephemerals().at(-1) ?? { blocks: [] })).toEqual(['reminder_renew', 'name_edit']);

  getSandboxDns().world.serve(
    'cafe.rest',
    ['ns1.dns.example', 'ns2.dns.example'],
    ['@ A 198.51.100.7', '@ MX 10 mail.elsewhere.example'],
  );
  const seenOnce = await waitForName(DAY_MS, /Seen once, not confirmed yet.*mail\.elsewhere\.example/s);
  expect(seenOnce, 'unchanged after one lookup').toMatch(/Mail\* `mail\.cafe\.rest`/);
  const changed = await waitForName(DAY_MS, /Mail servers: `mail\.cafe\.rest` → `mail\.elsewhere\.example`/);
  expect(changed).toMatch(/Mail\* `mail\.elsewhere\.example`/);
  expect(changed, 'mail changes need no order').not.toMatch(/not ordered here/);
});

test('a DS change that the zone requested is in the history, without “not ordered here”', async () => {
  const lines = ['@ MX 10 mail.third.example', '@ DNSKEY 257 3 13 QUJDRA==', '@ CDS 7 13 2 ABCD'];
  getSandboxDns().world.serve('cafe.rest', ['ns1.dns.example', 'ns2.dns.example'], lines);
  await waitForName(DAY_MS, /Seen once, not confirmed yet.*mail\.third\.example/s);
  getSandboxDns().world.delegate('cafe.rest', ['ns1.dns.example', 'ns2.dns.example'], ['7 13 2 ABCD']);
  await waitForName(DAY_MS, /Seen once, not confirmed yet.*DS: changed \(one key\)/s);
  const text = await waitForName(
    DAY_MS,
    /DS: changed \(one key\) · requested by the zone’s CDS or CDNSKEY records/,
  );
  expect(text).not.toMatch(/not ordered here/i);
});

test('a nameserver change without an order is marked as “not ordered here”', async () => {
  t.service.registry.show('cafe.rest', { nameServers: ['ns1.thief.example'] });
  await waitForName(DAY_MS, /Seen once, not confirmed yet.*ns1\.thief\.example/s);
  await waitForName(DAY_MS, /Nameservers at the registry: .* → `ns1\.thief\.example`.* not ordered here/);
});

test('the command requires one valid name', async () => {
  expect(await send('name')).toContain('Enter one name, such as `/domain name cafe.rest`.');
  expect(await send('name one.rest two.rest')).toContain('Enter one name');
  expect(await send('name cafe')).toContain('has no TLD');
});
