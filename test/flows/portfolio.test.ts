import type { Actor, View } from '@domain-steward/slack-workspace';
import { describe, expect, it } from 'vitest';
import { diffPrices } from '../../src/money/prices.ts';
import {
  buttonsOf,
  DOMAINS,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { waitForOrder } from '../support/orders.ts';
import { expectFormClosed, listFields, readFieldValues, waitForEphemeral } from '../support/people.ts';

/* People edit, find, export and import the details of one name or many names. */

const t = useTestDemo();
const send = (line: string, person: Actor = t.alice) =>
  readCommandReply(t.workspace, person, `/domain ${line}`);

async function openEditForm(name: string, person: Actor = t.alice): Promise<View> {
  await send(`name ${name}`, person);
  const nameReply = person.ephemerals().at(-1);
  if (nameReply === undefined) throw new Error('the name was not shown');
  return performAndWaitForView(t.workspace, person, () => person.click(nameReply, 'name_edit'));
}

function submitAndReadReply(
  form: View,
  values: Parameters<Actor['submit']>[1],
  person: Actor = t.alice,
): Promise<string> {
  return performAndReadReply(t.workspace, person, async () =>
    expectFormClosed(await person.submit(form, values)),
  );
}

describe('a channel that the bot isn’t in', () => {
  const notInChannel = /I am not in|invite/i;

  it('is rejected in the form', async () => {
    await send('watch cafe.rest');
    const form = await openEditForm('cafe.rest');
    const result = await t.alice.submit(form, { channel: 'C0NOBOT' });
    expect(result).toMatchObject({ errors: { channel: expect.stringMatching(notInChannel) } });
    t.alice.close(form);
  });

  it('is rejected in a CSV file, and the error has its ID', async () => {
    const form = await openForm(t.workspace, t.alice, '/domain names import');
    const result = await t.alice.submit(form, { rows: 'name,channel\ncafe.rest,C0NOBOT' });
    expect(JSON.stringify(result)).toMatch(/C0NOBOT: /);
    expect(result.outcome).toBe('errors');
    t.alice.close(form);
  });
});

describe('the details of a name', () => {
  it('are edited in a form and shown by /domain name', async () => {
    await send('watch cafe.rest');
    const form = await openEditForm('cafe.rest');
    expect(form.callback_id).toBe('name_edit');
    expect(textOf(form)).toContain('*cafe.rest*');
    expect(listFields(form)).toEqual(['owner', 'tags', 'channel', 'note']);
    const values = {
      owner: 'U0BOB',
      tags: '#Brand, client-acme',
      channel: 'C0DOMAINS',
      note: 'Ask *legal* first',
    };
    expect(await submitAndReadReply(form, values)).toContain('I saved the changes to cafe.rest.');
    const text = await send('name cafe.rest');
    expect(text).toContain('*Owner* <@U0BOB>');
    expect(text).toContain('*Tags* `brand` `client-acme`');
    expect(text).toContain('*Channel* <#C0DOMAINS>');
    expect(text).not.toContain('Ask *legal*');
    expect(text.replaceAll('\u2060', '')).toContain('Ask *legal* first');
  });

  it('are prefilled and can be cleared with a checkbox', async () => {
    const form = await openEditForm('cafe.rest');
    expect(readFieldValues(form)).toMatchObject({ tags: 'brand, client-acme' });
    expect(form.state.values).toMatchObject({
      owner: { owner: { selected_user: 'U0BOB' } },
      channel: { channel: { selected_conversation: 'C0DOMAINS' } },
    });
    await submitAndReadReply(form, { clear: ['channel'], tags: 'brand' });
    const text = await send('name cafe.rest');
    expect(text).toContain('*Tags* `brand`\n');
    expect(text).toContain('<@U0BOB>');
    expect(text).not.toContain('*Channel*');
  });

  it('show errors at their fields', async () => {
    const form = await openEditForm('cafe.rest');
    expect(await t.alice.submit(form, { tags: 'a/b, none' })).toMatchObject({
      outcome: 'errors',
      errors: { tags: expect.stringMatching(/“a\/b” isn’t a valid tag.*“none” is reserved for filters/) },
    });
    t.alice.close(form);
  });

  it('can include a protected tag, which only two people together can remove', async () => {
    const form = await openEditForm('cafe.rest');
    await submitAndReadReply(form, { tags: 'brand, guarded' });
    expect(await submitAndReadReply(await openEditForm('cafe.rest'), { tags: 'brand' })).toContain(
      'Another person must confirm this change',
    );
    expect(await send('unwatch cafe.rest')).toContain('Another person must confirm this change');
    const confirmationRequest = t.workspace
      .messages(DOMAINS)
      .find(
        (message) => textOf(message).includes('→ `brand`') && buttonsOf(message).includes('facts_confirm'),
      );
    if (confirmationRequest === undefined) throw new Error('no confirmation was requested');
    await t.bob.click(confirmationRequest, 'facts_confirm');
    await t.workspace.waitFor(
      () => t.workspace.messages(DOMAINS).find((message) => textOf(message).includes('<@U0BOB> confirmed')),
      { what: 'the confirmation' },
    );
    await send('watch bistro.rest');
    expect(await send('unwatch bistro.rest')).toContain('bistro.rest* is no longer watched');
  });
});

function lastMessageTo(person: Actor) {
  const message = person.ephemerals().at(-1);
  if (message === undefined) throw new Error('no message');
  return message;
}

/** Downloads the rows of the latest portfolio file. */
async function downloadRows(channel: string): Promise<string[]> {
  const file = t.workspace.messages(channel).findLast(({ files }) => files !== undefined)?.files?.[0];
  if (file === undefined) throw new Error('no file was sent');
  const csv = await (await fetch(new URL(file.url_private_download, t.workspace.url))).text();
  return csv.replace('\ufeff', '').trim().split('\r\n');
}

describe('names', () => {
  it('are found by combined filters, with their renewal cost', async () => {
    for (const [name, days] of [
      ['acme-one.rest', 40],
      ['acme-two.rest', 50],
      ['acme-far.rest', 300],
      ['other.rest', 40],
    ] as const) {
      const expires = t.service.clock.registryTime() + days * 86_400_000;
      t.service.state.addDomain({ name, context: 4, expires });
      await send(`watch ${name}`);
    }
    for (const name of ['acme-one.rest', 'acme-two.rest', 'acme-far.rest']) {
      await submitAndReadReply(await openEditForm(name), { tags: 'acme', owner: 'U0ADA' });
    }
    await t.demo.bot.prices.save(
      diffPrices(
        [],
        [
          {
            zone: 'rest',
            task: 'renew',
            period: 1,
            amount: { currency: 'EUR', minor: 1_800 },
            validFrom: '2020-01-01',
            source: 'Contract 7',
          },
        ],
      ),
      'U0ADA',
      new Date(),
    );
    const text = await send('names tag:acme expiring<90');
    expect(text).toContain('2 names matching `tag:acme expiring&lt;90`');
    expect(text).toContain('Renewing all of them for 1 year would cost about €36.00.');
    expect(text).toMatch(/^\*acme-one\.rest\* · \d.* \(\d+ days\) · €18\.00 · <@U0ADA> · `acme`$/m);
    expect(text).not.toContain('other.rest');
    for (const line of ['names owner:@ada acme-', 'names owner:U0ADA', 'names "acme-"']) {
      expect(await send(line), line).toContain('3 names');
    }
    expect(await send('names owner:me', t.ada)).toContain('3 names');
  });

  it('that are deleted aren’t included in renewal costs', async () => {
    await send('watch gone.rest');
    const text = await send('names acme-one gone.rest');
    expect(text).toContain('1 is deleted and can’t be renewed.');
    expect(text).toContain('Renewing the other one for 1 year would cost about €18.00.');
    expect(text).toMatch(/\*gone\.rest\* · deleted/);
    const replyForDeletedName = await send('names gone.rest');
    expect(replyForDeletedName).toContain('1 is deleted');
    expect(replyForDeletedName).not.toContain('Renewing');
    await send('unwatch gone.rest');
  });

  it('aren’t found by an invalid filter, and the reply suggests a valid one', async () => {
    expect(await send('names tga:acme')).toContain('Unknown filter `tga`. Did you mean `tag:`?');
    expect(await send('names expiring<soon')).toContain('`expiring&lt;60`');
    expect(await send('names owner:@nobody')).toContain('No owner is called “@nobody”');
    expect(await send('names tag:unheard-of')).toContain('No names match `tag:unheard-of`');
  });

  it('that were found can be renewed in one order', async () => {
    await send('names tag:acme expiring<90');
    const list = lastMessageTo(t.alice);
    const form = await performAndWaitForView(t.workspace, t.alice, () => t.alice.click(list, 'names_renew'));
    expect(form.callback_id).toBe('renew_many');
    const order = await waitForOrder(t.workspace, () => t.alice.submit(form));
    expect(textOf(order.card)).toMatch(/Renew 2 domains|acme-one\.rest.*acme-two\.rest/s);
    expect(textOf(order.card)).toContain('about €36.00');
  });

  it('that are selected can be edited together, and keep the fields left empty', async () => {
    await send('names tag:acme');
    const list = lastMessageTo(t.alice);
    const form = await performAndWaitForView(t.workspace, t.alice, () => t.alice.click(list, 'names_edit'));
    expect(listFields(form)).toEqual(['names', 'owner', 'tags', 'channel', 'note', 'clear']);
    const names = ['acme-one.rest', 'acme-two.rest'];
    expect(await submitAndReadReply(form, { names, tags: 'priority, -acme' })).toContain(
      'I saved the changes to 2 names.',
    );
    expect(await send('names tag:priority owner:U0ADA')).toContain('2 names');
    expect(await send('names tag:acme')).toContain('1 name matching');
  });

  it('that were found are exported as a CSV file', async () => {
    await t.alice.command(DOMAINS, '/domain names export tag:priority sort:name');
    await waitForEphemeral(t.workspace, t.alice, 'the message that the file was sent', (message) =>
      textOf(message).includes('the portfolio with 2 names'),
    );
    const [header, first, second] = await downloadRows('D0ALICE');
    expect(header).toBe('name,owner,tags,channel,note,expires,registrar,findings');
    expect(first).toMatch(/^acme-one\.rest,U0ADA,priority,,,\d{4}-\d{2}-\d{2},/);
    expect(second).toMatch(/^acme-two\.rest,/);
  });

  it('are imported from a CSV file after a preview', async () => {
    const form = await openForm(t.workspace, t.alice, '/domain names import');
    expect(listFields(form)).toEqual(['file', 'rows']);
    expect(textOf(form), 'the limit in the form').toContain('at most 20,000 names');
    expect(await t.alice.submit(form, { rows: 'name,owner\nacme-one.rest,Ada' })).toMatchObject({
      outcome: 'errors',
      errors: { rows: expect.stringContaining('Line 2: the owner must be a Slack user ID') },
    });
    const rows = 'name,tags,channel\nacme-one.rest,imported,C0DOMAINS\nnobody-has-it.rest,x,';
    const preview = await submitAndReadReply(form, { rows });
    expect(preview).toContain('1 name would change.');
    expect(preview).toContain('`nobody-has-it.rest`');
    expect(await send('names tag:imported')).toContain('No names match');
    const previewMessage = t.alice.ephemerals().find((message) => textOf(message).includes('would change'));
    if (previewMessage === undefined) throw new Error('the preview was not shown');
    const apply = () => t.alice.click(previewMessage, 'names_import_apply');
    expect(await performAndReadReply(t.workspace, t.alice, apply)).toContain(
      'I saved the changes to 1 name.',
    );
    expect(await send('names tag:imported')).toContain('1 name matching');
    expect(await performAndReadReply(t.workspace, t.alice, apply)).toContain('already applied');
  });

  it('are imported only with owners who are members', async () => {
    const before = t.workspace.calls.length;
    const submit = async (rows: string) =>
      t.alice.submit(await openForm(t.workspace, t.alice, '/domain names import'), { rows });
    const inventedRows = Array.from({ length: 31 }, (_, at) => `acme-${at}.rest,U0INVENTED${at}`);
    expect(await submit(`name,owner\n${inventedRows.join('\n')}`)).toMatchObject({
      errors: { rows: expect.stringContaining('You can add at most 30 new owners at a time') },
    });
    const listOwnerLookups = () =>
      t.workspace.calls.slice(before).filter(({ args }) => /INVENTED/.test(String(args['user'])));
    expect(listOwnerLookups()).toEqual([]);
    expect(await submit('name,owner\nacme-one.rest,U0INVENTED1\nacme-two.rest,U0DAVE')).toMatchObject({
      errors: { rows: expect.stringContaining('Replace U0INVENTED1, U0DAVE') },
    });
    expect(listOwnerLookups()).toHaveLength(1);
    t.workspace.faults.set({ method: 'users.info', kind: 'http_500' });
    expect(await submit('name,owner\nacme-one.rest,U0CAROL')).toMatchObject({
      errors: { rows: expect.stringContaining('Slack can’t confirm right now') },
    });
    t.workspace.faults.clear();
    expect(await submit('name,owner\nacme-one.rest,U0CAROL')).toMatchObject({ outcome: 'closed' });
    for (const view of t.alice.openedViews()) await t.alice.close(view);
  });
});

describe('an absence set with /domain away', () => {
  const today = new Date().toISOString().slice(0, 10);
  const year = Number(today.slice(0, 4));
  const getNextDate = (monthAndDay: string) =>
    `${`${year}-${monthAndDay}` > today ? year : year + 1}-${monthAndDay}`;

  it.each([
    ['U0CAROL', getNextDate('12-10'), 29],
    ['U0CAROL', getNextDate('07-10'), 28],
    ['U0BOB', getNextDate('12-10'), 24],
  ])('ends at midnight in the time zone of %s, after %s', async (id, day, utcHours) => {
    const person = t.workspace.as(id);
    const answer = await performAndReadReply(t.workspace, person, () =>
      person.command(DOMAINS, `/domain away ${day} <@U0ADA>`),
    );
    expect(answer).toContain(`<!date^${Date.parse(day) / 1_000 + utcHours * 3_600}^`);
    await performAndReadReply(t.workspace, person, () => person.command(DOMAINS, '/domain back'));
  });
});
