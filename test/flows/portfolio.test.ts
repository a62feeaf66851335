import type { Actor, View } from '@domain-steward/slack-workspace';
import { describe, expect, it } from 'vitest';
import { answerTo, openedAfter, toldAfter, useTestDemo } from '../support/demo.ts';
import { auditLog, closed, fieldsOf, filledOf } from '../support/people.ts';

/*
 * Whose a name is: what people set for names, one by one and many at once.
 */

const t = useTestDemo();
const told = (line: string, person: Actor = t.alice) => answerTo(t.workspace, person, `/domain ${line}`);

/** Opens the form behind the button on the screen of a name. */
async function editForm(name: string, person: Actor = t.alice): Promise<View> {
  await told(`name ${name}`, person);
  const screen = person.ephemerals().at(-1);
  if (screen === undefined) throw new Error('the screen of the name was not shown');
  return openedAfter(t.workspace, person, () => person.click(screen, 'name_edit'));
}

/** Saves the form and answers with what the person is told. */
function saved(form: View, values: Parameters<Actor['submit']>[1], person: Actor = t.alice): Promise<string> {
  return toldAfter(t.workspace, person, async () => closed(await person.submit(form, values)));
}

describe('the details of a name', () => {
  it('are set in a form behind a button of its screen, and stand on the screen', async () => {
    await told('watch cafe.rest');
    const form = await editForm('cafe.rest');
    expect(form.callback_id).toBe('name_edit');
    expect(fieldsOf(form)).toEqual(['owner', 'tags', 'channel', 'note']);
    const values = {
      owner: 'U0BOB',
      tags: '#Brand, client-acme',
      channel: 'C0DOMAINS',
      note: 'Ask *legal* first',
    };
    expect(await saved(form, values)).toContain('Saved for cafe.rest.');
    const text = await told('name cafe.rest');
    expect(text).toContain('*Owner*\n<@U0BOB>');
    expect(text).toContain('*Tags*\n`brand` `client-acme`');
    expect(text).toContain('*Told in*\n<#C0DOMAINS>');
    expect(text).not.toContain('Ask *legal*');
    expect(text.replaceAll('\u2060', '')).toContain('Ask *legal* first');
  });

  it('open as they stand, and are taken away by a tick', async () => {
    const form = await editForm('cafe.rest');
    expect(filledOf(form)).toMatchObject({ tags: 'brand, client-acme' });
    expect(form.state.values).toMatchObject({
      owner: { owner: { selected_user: 'U0BOB' } },
      channel: { channel: { selected_conversation: 'C0DOMAINS' } },
    });
    await saved(form, { clear: ['channel'], tags: 'brand' });
    const text = await told('name cafe.rest');
    expect(text).toContain('*Tags*\n`brand`\n');
    expect(text).toContain('<@U0BOB>');
    expect(text).not.toContain('Told in');
  });

  it('say at the field what is wrong with them', async () => {
    const form = await editForm('cafe.rest');
    expect(await t.alice.submit(form, { tags: 'a/b, none' })).toMatchObject({
      outcome: 'errors',
      errors: { tags: expect.stringMatching(/“a\/b” is not a tag.*“none” finds names without tags/) },
    });
    t.alice.close(form);
  });

  it('have tags that only who decides takes away, or unwatches the name with', async () => {
    const form = await editForm('cafe.rest');
    await saved(form, { tags: 'brand, guarded' });
    const again = await editForm('cafe.rest');
    expect(await t.alice.submit(again, { tags: 'brand' })).toMatchObject({
      outcome: 'errors',
      errors: { tags: expect.stringContaining('The tag “guarded” of cafe.rest decides') },
    });
    t.alice.close(again);
    expect(await told('unwatch cafe.rest')).toContain('Ask an approver or an admin');
    expect(await saved(await editForm('cafe.rest', t.bob), { tags: 'brand' }, t.bob)).toContain('Saved');
    await told('watch bistro.rest');
    expect(await told('unwatch bistro.rest')).toContain('off the watch list');
  });

  it('have their changes in the audit log, with who made them', async () => {
    const { csv } = await auditLog(t.workspace);
    const lines = csv.split('\r\n').filter((line) => line.includes('name_changed'));
    expect(lines).toHaveLength(4);
    expect(lines[0]).toContain('Alice (U0ALICE)');
    expect(lines[0]).toContain(
      'channel: C0DOMAINS, note: Ask *legal* first, owner: U0BOB, tags: brand client-acme',
    );
    expect(lines[3]).toContain('Bob (U0BOB)');
  });
});
