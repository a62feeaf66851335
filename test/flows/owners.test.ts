import type { View } from '@domain-steward/slack-workspace';
import { describe, expect, test } from 'vitest';
import { answerTo, openForm, until, useTestDemo } from '../support/demo.ts';
import { orderAfter, requestsOf } from '../support/orders.ts';
import { DELEGATION, fieldsOf } from '../support/people.ts';

/*
 * Owners of names: chosen with the order, asked before the expiry, and replaced when they leave.
 */

const t = useTestDemo({ speedup: 8 });
const told = (line: string) => answerTo(t.workspace, t.alice, `/domain ${line}`);

async function registered(form: View, values: Readonly<Record<string, string | null>>) {
  const order = await orderAfter(t.workspace, () => t.alice.submit(form, { ...DELEGATION, ...values }));
  await t.bob.click(order.card, 'order_approve');
  await order.ends('SUCCEEDED');
  return order;
}

describe('a registration', () => {
  test('asks for an owner and a purpose, which the name has after success and nobody is sent', async () => {
    const form = await openForm(t.workspace, t.alice, '/domain create owned.rest');
    expect(fieldsOf(form)).toEqual(expect.arrayContaining(['owner', 'note']));
    expect(form.state.values).toMatchObject({ owner: { owner: { selected_user: 'U0ALICE' } } });
    const order = await registered(form, { owner: 'U0CAROL', note: 'the summer campaign' });
    const [request] = requestsOf(t.service, order);
    expect(JSON.stringify(request?.body)).not.toMatch(/U0CAROL|summer campaign/);
    await until('the name has them', async () =>
      /\*Owner\* <@U0CAROL>\n\*Note\* the summer campaign/.test(await told('name owned.rest')),
    );
  });

  test('without an owner leaves the name to nobody', async () => {
    await registered(await openForm(t.workspace, t.alice, '/domain create nobodys.rest'), { owner: null });
    await until('the name is watched', async () => (await told('name nobodys.rest')).includes('Expires'));
    expect(await told('name nobodys.rest')).not.toContain('*Owner*');
  });

  test.each([
    ['a person of another workspace', 'U0DAVE', {}],
    ['a guest', 'U0CAROL', { is_restricted: true }],
    ['the bot', 'U0STEWARD', undefined],
    ['a deactivated person', 'U0CAROL', { deleted: true }],
  ])('refuses %s as the owner', async (_who, owner, changes) => {
    if (changes !== undefined) await t.workspace.changePerson(owner, changes);
    const form = await openForm(t.workspace, t.alice, '/domain create refused.rest');
    expect(await t.alice.submit(form, { ...DELEGATION, owner })).toMatchObject({
      errors: { owner: expect.stringContaining('An owner must be a member of this workspace') },
    });
    t.alice.close(form);
    if (changes !== undefined)
      await t.workspace.changePerson(owner, { deleted: false, is_restricted: false });
  });
});
