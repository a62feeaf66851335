import type { Actor, Message } from '@domain-steward/slack-workspace';
import { describe, expect, it } from 'vitest';
import { getDraftBase } from '../../src/policy/drafts.ts';
import { openDatabase } from '../../src/store/database.ts';
import { createPolicyStore } from '../../src/store/policies.ts';
import { newPolicyRule } from '../policy/sample.ts';
import {
  buttonsOf,
  openForm,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand } from '../support/orders.ts';
import { buttonValue, downloadAuditLog, expectFormClosed, forgeClick } from '../support/people.ts';
import { confirmPolicy } from '../support/proposals.ts';

/* Weakening a protected setting needs another admin's confirmation; tightening it takes effect immediately. */

const t = useTestDemo({ settings: { ADMINS: 'U0ADA,U0BOB', APPROVALS_REQUIRED: '2' } });
const TODAY = new Date().toISOString().slice(0, 10);

type Values = Readonly<Record<string, string | string[] | null>>;

/** Saves settings. @returns the reply */
async function saveSettings(values: Values, person = t.ada): Promise<string> {
  const view = await openForm(t.workspace, person, '/domain settings');
  return performAndReadReply(t.workspace, person, async () =>
    expectFormClosed(await person.submit(view, values)),
  );
}

/** Waits for the latest open confirmation request to an admin. */
function waitForConfirmationRequest(channel = 'D0BOB'): Promise<Message> {
  return t.workspace.waitFor(
    () => t.workspace.messages(channel).findLast((each) => buttonsOf(each).includes('settings_confirm')),
    { what: 'a confirmation request' },
  );
}

/** Lists a person's ephemeral and direct messages. */
function listMessagesTo(person: Actor): string[] {
  const direct = t.workspace.messages(person.user.id.replace('U0', 'D0'));
  return [...person.ephemerals(), ...direct].map(textOf);
}

/** Acts and waits for a new message to the person. @returns its text */
async function replyAfter(person: Actor, act: () => Promise<unknown>): Promise<string> {
  const countOf = (text: string, texts: readonly string[]) => texts.filter((each) => each === text).length;
  const before = listMessagesTo(person);
  await act();
  return t.workspace.waitFor(
    () => {
      const now = listMessagesTo(person);
      return now.find((text) => countOf(text, now) > countOf(text, before));
    },
    { what: `a message to ${person.user.id}` },
  );
}

function clickAndReadReply(person: Actor, button: string, request: Message): Promise<string> {
  return replyAfter(person, () => person.click(request, button));
}

/** Sends a click on Confirm even if the message is gone or went to another person. */
function sendConfirmClick(person: Actor, value: string): Promise<string> {
  return replyAfter(person, () => forgeClick(t.workspace, person.user.id, 'settings_confirm', value));
}

describe('a protected setting', () => {
  it('is weakened only after another admin confirms', async () => {
    const reply = await saveSettings({ approvals_required: '1', approval_tasks: ['create', 'transfer'] });
    expect(reply).toContain('Waiting for another admin');
    expect(reply).toContain('Approvals needed per order: `2` → `1`');
    expect(reply).toContain('renew, restore: this costs money and no longer needs approval.');
    expect(reply).toContain('Waiting for <@U0BOB> to confirm.');
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
    await order.waitForState('PENDING');
    expect(textOf(order.card)).toContain('of 2');

    const request = await waitForConfirmationRequest();
    const value = buttonValue(request, 'settings_confirm');
    expect(textOf(request)).toContain('<@U0ADA> wants to change the settings.');
    expect(textOf(request)).toContain('renew, restore: this costs money');
    expect(await clickAndReadReply(t.bob, 'settings_confirm', request)).toContain(
      'Requested by <@U0ADA>, confirmed by <@U0BOB>',
    );
    const freeOrder = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
    await freeOrder.waitForResult('SUCCEEDED');
    await t.workspace.waitFor(
      () => t.workspace.messages('D0ADA').find((each) => textOf(each).includes('confirmed by <@U0BOB>')),
      { what: 'a message to Ada' },
    );
    expect(await sendConfirmClick(t.bob, value)).toContain('This is no longer open');
    await t.alice.click(order.card, 'order_cancel');

    const { csv } = await downloadAuditLog(t.workspace);
    const lines = csv.split('\r\n').filter((line) => line.includes('approvals_required'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('Ada (U0ADA)');
    expect(lines[0]).toContain('Bob (U0BOB)');
  });

  it('is tightened immediately, even if another change is pending', async () => {
    const reply = await saveSettings({
      approvals_required: '2',
      approval_tasks: ['create', 'transfer', 'renew', 'restore'],
      allow_self_approval: 'true',
      approval_ttl: '2d',
    });
    expect(reply).toMatch(
      /I saved these settings\. .*`1` → `2`.*`3d` → `2d`.*Waiting for another admin.*`false` → `true`/s,
    );
    const form = await openForm(t.workspace, t.ada, '/domain settings');
    const formBlocks = JSON.stringify(form.blocks);
    expect(formBlocks).toContain('<@U0ADA> wants to change the settings.');
    expect(formBlocks, 'no Confirm button for the requester').not.toContain('settings_confirm');
    await t.ada.close(form);
  });

  it('can’t be confirmed by the requester or by people who aren’t admins', async () => {
    const request = await waitForConfirmationRequest();
    const value = buttonValue(request, 'settings_confirm');
    expect(await sendConfirmClick(t.ada, value)).toContain('*another admin* has to confirm it');
    expect(await sendConfirmClick(t.alice, value)).toContain('Only admins can do this.');
  });

  it('is confirmed in the settings form, which then no longer shows the pending change', async () => {
    const form = await openForm(t.workspace, t.bob, '/domain settings');
    expect(JSON.stringify(form.blocks)).toContain('settings_confirm');
    await t.bob.click(form, 'settings_confirm');
    await t.workspace.waitFor(
      () => {
        const view = t.bob.openedViews().at(-1);
        return view !== undefined && !JSON.stringify(view.blocks).includes('settings_confirm')
          ? view
          : undefined;
      },
      { what: 'the form without the pending change' },
    );
    await t.bob.close(form);
  });

  it('can’t require more approvals than approvers exist, and its change can be dismissed', async () => {
    await saveSettings({ approvals_required: '1' });
    const request = await waitForConfirmationRequest();
    const value = buttonValue(request, 'settings_confirm');
    const form = await openForm(t.workspace, t.bob, '/domain settings');
    expect(
      await t.bob.submit(form, { approvals_required: '3', approvers: ['U0BOB', 'U0CAROL', 'U0ADA'] }),
    ).toMatchObject({ errors: { approvals_required: expect.stringContaining('Save only them now') } });
    await t.bob.close(form);
    expect(await clickAndReadReply(t.bob, 'settings_dismiss', request)).toContain('Not applied');
    expect(await sendConfirmClick(t.bob, value)).toContain('This is no longer open');
  });
});

describe('a price that a rule uses', () => {
  async function importPrices(...rows: readonly string[]): Promise<string> {
    await readCommandReply(t.workspace, t.ada, '/domain prices');
    const list = t.ada.ephemerals().at(-1);
    if (list === undefined) throw new Error('the price list was not shown');
    const form = await performAndWaitForView(t.workspace, t.ada, () => t.ada.click(list, 'prices_import'));
    return performAndReadReply(t.workspace, t.ada, async () =>
      expectFormClosed(
        await t.ada.submit(form, {
          rows: ['zone,task,period,amount,valid_from,source', ...rows].join('\n'),
        }),
      ),
    );
  }
  const loadAmounts = async () =>
    Object.fromEntries((await t.demo.bot.prices.list()).map(({ zone, amount }) => [zone, amount.minor]));

  it('falls below the rule’s amount only after another admin confirms', async () => {
    await importPrices(`rest,renew,1,150.00,${TODAY},C7`, `example,renew,1,150.00,${TODAY},C7`);
    const database = openDatabase({ url: t.databaseUrl });
    const store = createPolicyStore(database, t.workspace.teamId, true);
    const over = { currency: 'EUR', minor: 10_000 };
    const rules = [newPolicyRule({ tasks: ['renew'], names: ['*.rest'], over, approvers: ['U0CAROL'] })];
    const draft = await store.saveDraft(
      rules,
      getDraftBase(await store.loadCurrentPolicy(), undefined).revision,
      'U0ADA',
      new Date(),
    );
    await store.publish(draft?.revision ?? '', 'U0ADA', new Date());
    await confirmPolicy(database, t.workspace.teamId, draft?.revision ?? '', 'U0BOB', new Date());
    await database.close();

    const reply = await importPrices(`rest,renew,1,9.00,${TODAY},C8`, `example,renew,1,9.00,${TODAY},C8`);
    expect(reply).toMatch(/1 price changed\..*Waiting for another admin.*\.rest renew.*€150\.00 → €9\.00/s);
    expect(await loadAmounts()).toEqual({ rest: 15_000, example: 900 });
    const order = await requestByCommand(t.workspace, t.alice, '/domain renew tavern.rest');
    expect(textOf(order.card)).toContain('<@U0CAROL>');
    expect(await clickAndReadReply(t.bob, 'settings_confirm', await waitForConfirmationRequest())).toContain(
      '€150.00 → €9.00',
    );
    expect(await loadAmounts()).toEqual({ rest: 900, example: 900 });
    const cheapOrder = await requestByCommand(t.workspace, t.alice, '/domain renew deli.rest');
    expect(textOf(cheapOrder.card)).not.toContain('<@U0CAROL>');
    const { csv } = await downloadAuditLog(t.workspace);
    expect(csv).toMatch(/price_changed,Ada \(U0ADA\).*Bob \(U0BOB\).*€150\.00.*€9\.00/);
  });
});
