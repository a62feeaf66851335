import { expect, test } from 'vitest';
import { answerTo, buttonsOf, until, useTestDemo } from '../support/demo.ts';

/* All facts of one name, on one screen. */

const t = useTestDemo();
const DAY_MS = 86_400_000;

const told = (line: string) => answerTo(t.workspace, t.alice, `/domain ${line}`);
const dns = () => {
  const { sandbox } = t.demo.dns;
  if (sandbox === undefined) throw new Error('the demo has no DNS');
  return sandbox;
};

/** Advances the clock so that lookups are due, until the screen has a text. */
async function screenAfter(byMs: number, shows: RegExp): Promise<string> {
  await t.demo.moveTime(byMs);
  let text = '';
  // The names of one registry are looked up there one after the other.
  await until(`the screen shows ${shows}`, async () => {
    await t.demo.bot.catchUp();
    text = await told('name cafe.rest');
    return shows.test(text);
  });
  return text;
}

test('an unwatched name is looked up while the person waits', async () => {
  const text = await told('name bar.rest');
  expect(text).toMatch(/bar\.rest/);
  expect(text).toMatch(/Expires .*, according to the registry/);
  expect(text).toMatch(/Nameservers\* `ns1\.dns\.example`, `ns2\.dns\.example`/);
  expect(text).toMatch(/Website\* `198\.51\.100\.8`/);
  expect(text).toMatch(/Mail\* `mail\.cafe\.rest`/);
  expect(text).toMatch(/DNSSEC\* off/);
  expect(text, 'facts missing at the registry').toMatch(
    /:grey_question: .*\*Registrar\*: not published by the registry/,
  );
  expect(text).toContain('/domain watch bar.rest');
  expect(text, 'nothing is known of before').not.toContain('History');
  expect(buttonsOf(t.alice.ephemerals().at(-1) ?? { blocks: [] })).toEqual([]);
});

test('an unseen fact is called unseen, never empty', async () => {
  dns().faults.set({ kind: 'silence', match: { name: 'deli.rest' } });
  const text = await told('name deli.rest');
  dns().faults.clear();
  expect(text).toMatch(/Expires .*, according to the registry/);
  expect(text).toMatch(/:grey_question: .*\*Mail servers\*.*: no response in time/);
  expect(text).not.toMatch(/none found|no mail servers|not delegated/);
});

test('certificate issuers are shown, and a failed query never means any CA', async () => {
  expect(await told('name bar.rest')).toMatch(/CAA\* none \(any CA can issue\)/);
  dns().world.serve(
    'bar.rest',
    ['ns1.dns.example', 'ns2.dns.example'],
    [
      '@ A 198.51.100.8',
      '@ CAA 0 issue "letsencrypt.org; validationmethods=dns-01"',
      '@ CAA 0 issuewild ";"',
    ],
  );
  expect(await told('name bar.rest')).toMatch(/CAA\* `letsencrypt\.org`; wildcards: no CA\n/);
  dns().faults.set({ kind: 'servfail', match: { name: 'bar.rest', type: 'CAA' } });
  const unanswered = await told('name bar.rest');
  dns().faults.clear();
  expect(unanswered).toMatch(/:grey_question: .*\*CAA\*.*: the nameservers returned an error/);
  expect(unanswered).not.toContain('any CA');
});

test('a past date is marked, with how to correct it', async () => {
  const text = await told('watch old-menu.rest 2020-01-01');
  expect(text).toMatch(/It expired 1 Jan 2020 \(\d+ days ago\), date entered manually\. To correct it, use/);
  expect(await told('watch new-menu.rest 2035-01-01')).toMatch(
    /It expires 1 Jan 2035 \(in \d+ days\), date entered manually\./,
  );
});

test('a name that no registry knows', async () => {
  const text = await told('name unheard-of.rest');
  expect(text).toMatch(/The registry has no record of it/);
});

test('the guide’s first name is signed and healthy once its delegation is checked', async () => {
  await told('watch cafe.rest');
  let text = '';
  await until('its delegation is checked', async () => {
    text = await told('name cafe.rest');
    return !text.includes('couldn’t be checked');
  });
  expect(text).toMatch(/DNSSEC\* signed/);
  expect(text).not.toMatch(/:x:/);
});

test('a deleted name starts with its deletion, the deadline of a restore, and its missing delegation', async () => {
  await told('watch gone.rest');
  const text = await told('name gone.rest');
  expect(text).toMatch(/It was deleted\.\*.*It can be restored until/);
  expect(text).toMatch(/Nameservers\* none \(not delegated\)/);
  expect(buttonsOf(t.alice.ephemerals().at(-1) ?? { blocks: [] })).toEqual(['reminder_restore', 'name_edit']);
});

test('a watched name without a registry lookup is looked up while the person waits', async () => {
  // The registry gets one query at a time, so at most one of them has had its turn after the DNS queries.
  const names = ['bar.rest', 'deli.rest', 'gone.rest'];
  for (const name of names) await told(`watch ${name}`);
  for (const name of names) {
    let text = '';
    await until(`a lookup of ${name}`, async () => {
      await t.demo.bot.catchUp();
      text = await told(`name ${name}`);
      return text.includes('No changes since I started watching');
    });
    expect(text, name).toMatch(/DNS checked .*, registry checked /i);
  }
  for (const name of names) await told(`unwatch ${name}`);
});

test('a watched name keeps its history', async () => {
  await told('watch cafe.rest');
  const first = await screenAfter(0, /No changes since I started watching/);
  expect(first).toMatch(/Expires .*\(in 2[23] days\)/);
  expect(buttonsOf(t.alice.ephemerals().at(-1) ?? { blocks: [] })).toEqual(['reminder_renew', 'name_edit']);

  dns().world.serve(
    'cafe.rest',
    ['ns1.dns.example', 'ns2.dns.example'],
    ['@ A 198.51.100.7', '@ MX 10 mail.elsewhere.example'],
  );
  const once = await screenAfter(DAY_MS, /Seen once, not confirmed yet.*mail\.elsewhere\.example/s);
  expect(once, 'one lookup proves nothing').toMatch(/Mail\* `mail\.cafe\.rest`/);
  const changed = await screenAfter(DAY_MS, /Mail servers: `mail\.cafe\.rest` → `mail\.elsewhere\.example`/);
  expect(changed).toMatch(/Mail\* `mail\.elsewhere\.example`/);
  expect(changed, 'what lives on a name may change at any time').not.toMatch(/not ordered here/);
});

test('a DS that the zone requested is in the history, and no incident', async () => {
  const lines = ['@ MX 10 mail.third.example', '@ DNSKEY 257 3 13 QUJDRA==', '@ CDS 7 13 2 ABCD'];
  dns().world.serve('cafe.rest', ['ns1.dns.example', 'ns2.dns.example'], lines);
  await screenAfter(DAY_MS, /Seen once, not confirmed yet.*mail\.third\.example/s);
  dns().world.delegate('cafe.rest', ['ns1.dns.example', 'ns2.dns.example'], ['7 13 2 ABCD']);
  await screenAfter(DAY_MS, /Seen once, not confirmed yet.*DS: changed \(one key\)/s);
  const text = await screenAfter(
    DAY_MS,
    /DS: changed \(one key\) · requested by the zone’s CDS or CDNSKEY records/,
  );
  expect(text).not.toMatch(/not ordered here/i);
});

test('a change without an order is marked', async () => {
  t.service.registry.show('cafe.rest', { nameServers: ['ns1.thief.example'] });
  await screenAfter(DAY_MS, /Seen once, not confirmed yet.*ns1\.thief\.example/s);
  await screenAfter(DAY_MS, /Nameservers at the registry: .* → `ns1\.thief\.example`.* not ordered here/);
});

test('one valid name', async () => {
  expect(await told('name')).toContain('Enter one name, such as `/domain name cafe.rest`.');
  expect(await told('name one.rest two.rest')).toContain('Enter one name');
  expect(await told('name cafe')).toContain('has no TLD');
});
