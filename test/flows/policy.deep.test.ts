import type { Actor, Message, View } from '@domain-steward/slack-workspace';
import { describe, expect, it } from 'vitest';
import {
  buttonsOf,
  performAndReadReply,
  performAndWaitForView,
  readCommandReply,
  textOf,
  useTestDemo,
} from '../support/demo.ts';
import { requestByCommand } from '../support/orders.ts';
import {
  buttonValue,
  expectFormClosed,
  forgeClick,
  listFields,
  readFieldValues,
  waitForEphemeral,
} from '../support/people.ts';

const t = useTestDemo({ settings: { ADMINS: 'U0ADA,U0BOB' } });

async function showPolicy(person: Actor): Promise<Message> {
  await readCommandReply(t.workspace, person, '/domain policy');
  return lastMessageTo(person);
}

function lastMessageTo(person: Actor): Message {
  const message = person.ephemerals().at(-1);
  if (message === undefined) throw new Error('no message');
  return message;
}

/** Opens the form of a button in `/domain policy`. */
async function openPolicyForm(button: string, value?: string): Promise<View> {
  const list = await showPolicy(t.ada);
  const clickOptions = value === undefined ? {} : { value };
  return performAndWaitForView(t.workspace, t.ada, () => t.ada.click(list, button, clickOptions));
}

type Values = Readonly<Record<string, string | readonly string[]>>;

function submit(form: View, values: Values, person = t.ada) {
  return person.submit(
    form,
    Object.fromEntries(
      Object.entries(values).map(([field, value]) => [field, typeof value === 'string' ? value : [...value]]),
    ),
  );
}

async function addRule(values: Values): Promise<string> {
  const form = await openPolicyForm('policy_add');
  return performAndReadReply(t.workspace, t.ada, async () => expectFormClosed(await submit(form, values)));
}

/** The names of the rules in a message, in order. */
function listRuleNames(message: Message): string[] {
  return [
    ...JSON.stringify(message.blocks).matchAll(
      /"action_id":"policy_edit"[^}]*\}?[^}]*"value":"\d+ ([^"]+)"/g,
    ),
  ].map(([, name]) => name ?? '');
}

const LARGE_RENEWALS: Values = {
  rule_name: 'large renewals',
  tasks: ['renew'],
  names: '*.rest',
  over: '100.00',
  decision: 'approve',
  approvers: ['U0BOB'],
  approver_groups: ['S0APPROVERS'],
  needed: '2',
};
const FREE_REDIRECTS: Values = {
  rule_name: 'redirects are free',
  tasks: ['redirect'],
  names: '*',
  decision: 'free',
};
const CAFE_STAYS: Values = {
  rule_name: 'the café stays',
  tasks: ['delete', 'transfer'],
  names: 'café.rest\ncafe.rest',
  by: ['U0ALICE'],
  decision: 'refuse',
};

/** Ada publishes the draft, and Bob confirms it. */
async function publishDraft(version: number): Promise<void> {
  const list = await showPolicy(t.ada);
  await performAndReadReply(t.workspace, t.ada, () => t.ada.click(list, 'policy_publish'));
  const policyForBob = await showPolicy(t.bob);
  await t.bob.click(policyForBob, 'policy_confirm');
  await waitForEphemeral(t.workspace, t.bob, 'the message that the policy is in force', (message) =>
    textOf(message).includes(`Version ${version} of the policy is in force`),
  );
}

describe('a policy without rules', () => {
  it('shows everyone what the settings require, and only admins can add rules', async () => {
    const policyForAlice = await showPolicy(t.alice);
    expect(textOf(policyForAlice)).toContain('only the settings apply');
    expect(textOf(policyForAlice)).toContain(
      '*Registrations, transfers, renewals and restores* of every name need *approval from <@U0BOB> or a member of <!subteam^S0APPROVERS>*.',
    );
    expect(textOf(policyForAlice)).toContain('*Everything else* needs *no approval*.');
    expect(buttonsOf(policyForAlice)).toEqual([]);
    expect(buttonsOf(await showPolicy(t.ada))).toEqual([
      'policy_add',
      'policy_download',
      'policy_upload',
      'policy_start',
    ]);
    await t.ada.close(await openPolicyForm('policy_add'));
    const reply = await performAndReadReply(t.workspace, t.alice, () =>
      forgeClick(t.workspace, 'U0ALICE', 'policy_add', 'new'),
    );
    expect(reply).toContain('Only admins can do this.');
  });
});

describe('a rule', () => {
  it('is edited in a form with the fields of the YAML file, which shows errors at them', async () => {
    const form = await openPolicyForm('policy_add');
    expect(form.callback_id).toBe('policy_rule');
    expect(listFields(form)).toEqual([
      'rule_name',
      'tasks',
      'names',
      'by',
      'by_groups',
      'over',
      'decision',
      'approvers',
      'approver_groups',
      'silent',
      'silent_groups',
      'needed',
      'ttl',
      'remind_after',
      'escalate_after',
      'escalate_to',
      'escalate_groups',
      'break_glass',
      'signed',
    ]);
    const result = await submit(form, {
      rule_name: 'x',
      tasks: ['renew'],
      names: 'two words?',
      over: '1,00',
      decision: 'approve',
      ttl: 'soon',
    });
    expect(result).toMatchObject({
      outcome: 'errors',
      errors: {
        names: expect.stringContaining('isn’t a name pattern'),
        over: expect.stringContaining('isn’t an amount'),
        approvers: 'Choose approvers here, or groups below.',
        ttl: expect.stringContaining('isn’t a duration'),
      },
    });
    const correctedValues = { names: '*', over: '', ttl: '', approvers: ['U0BOB'], needed: '3' };
    expect(await submit(form, correctedValues)).toMatchObject({
      errors: {
        needed: 'The rule needs 3 approvals but has only 1 approver. Choose more approvers, or enter 1.',
      },
    });
    const approvalOnlyError =
      'This is only for rules that need approval. Leave it empty, or change the decision.';
    expect(await submit(form, { ...correctedValues, decision: 'free' })).toMatchObject({
      errors: { approvers: approvalOnlyError, needed: approvalOnlyError },
    });
    await t.ada.close(form);
  });

  it('is saved to the draft and doesn’t change the policy in force', async () => {
    const reply = await addRule(LARGE_RENEWALS);
    expect(reply).toContain('I saved rule 1 to the draft.');
    expect(reply).toContain(
      '*Renewals* of `*.rest` over *€100.00* need *2 approvals from <@U0BOB> or members of <!subteam^S0APPROVERS>*.',
    );
    expect(await addRule(FREE_REDIRECTS)).toContain('*Redirects* of every name need *no approval*.');
    expect(await addRule({ ...CAFE_STAYS, approvers: [] })).toContain(
      '*Deletions and transfers* of `café.rest (xn--caf-dma.rest)` and `cafe.rest` requested by *<@U0ALICE>* are *refused*.',
    );
    expect(listRuleNames(await showPolicy(t.ada))).toEqual([
      'large renewals',
      'redirects are free',
      'the café stays',
    ]);
    const policyForAlice = await showPolicy(t.alice);
    expect(textOf(policyForAlice)).toContain('only the settings apply');
    expect(textOf(policyForAlice)).not.toContain('€100.00');
  });

  it('is edited with typed IDs if Slack doesn’t support the pickers', async () => {
    t.workspace.faults.set({ method: 'views.open', kind: 'error', code: 'invalid_arguments', times: 1 });
    const form = await openPolicyForm('policy_edit', '1 large renewals');
    expect(readFieldValues(form)).toMatchObject({ approvers: 'U0BOB,S0APPROVERS', over: '100.00' });
    const reply = await performAndReadReply(t.workspace, t.ada, async () =>
      expectFormClosed(
        await submit(form, {
          tasks: ['renew'],
          approvers: '<@U0BOB|bob b>, S0APPROVERS',
          by: 'U0CAROL S0APPROVERS',
        }),
      ),
    );
    expect(reply).toContain('requested by *<@U0CAROL> or members of <!subteam^S0APPROVERS>*');
    expect(reply).toContain('need *2 approvals from <@U0BOB> or members of <!subteam^S0APPROVERS>*');
  });

  it('moves up only once, even if the click is delivered twice', async () => {
    const expectedOrder = ['large renewals', 'the café stays', 'redirects are free'];
    const list = await showPolicy(t.ada);
    await t.ada.click(list, 'policy_up', { value: '3 the café stays' });
    await waitForEphemeral(
      t.workspace,
      t.ada,
      'the new order',
      (each) => listRuleNames(each).join() === expectedOrder.join(),
    );
    await forgeClick(t.workspace, 'U0ADA', 'policy_up', '3 the café stays');
    expect(listRuleNames(await showPolicy(t.ada))).toEqual(expectedOrder);
  });

  it('isn’t overwritten by a form that was opened before a change', async () => {
    const firstForm = await openPolicyForm('policy_edit', '3 redirects are free');
    const policyForBob = await showPolicy(t.bob);
    const secondForm = await performAndWaitForView(t.workspace, t.bob, () =>
      t.bob.click(policyForBob, 'policy_edit', { value: '3 redirects are free' }),
    );
    expectFormClosed(await submit(secondForm, { names: '*.rest' }, t.bob));
    expect(await submit(firstForm, { names: '*.example' })).toMatchObject({
      outcome: 'errors',
      errors: { rule_name: expect.stringContaining('someone changed or removed this rule') },
    });
    await t.ada.close(firstForm);
    expect(textOf(await showPolicy(t.ada))).toContain('*Redirects* of `*.rest` need *no approval*.');
  });

  it('is removed with a click, and a second click says that it no longer exists', async () => {
    await addRule({ ...FREE_REDIRECTS, rule_name: 'too much' });
    const list = await showPolicy(t.ada);
    const clickOptions = { value: '4 too much' };
    await t.ada.click(list, 'policy_remove', clickOptions);
    await waitForEphemeral(
      t.workspace,
      t.ada,
      'the list without the rule',
      (each) => listRuleNames(each).length === 3,
    );
    await forgeClick(t.workspace, 'U0ADA', 'policy_remove', clickOptions.value);
    await waitForEphemeral(t.workspace, t.ada, 'the message that the rule no longer exists', (each) =>
      textOf(each).includes('This rule no longer exists'),
    );
  });
});

describe('/domain policy test', () => {
  it('names the rule that applies, and why each earlier one doesn’t', async () => {
    const reply = await readCommandReply(
      t.workspace,
      t.bob,
      '/domain policy test delete cafe.rest by <@U0ALICE|alice>',
    );
    expect(reply).toContain('Under the *draft* (not in force yet)');
    expect(reply).toContain('*Deletions of `cafe.rest`* requested by <@U0ALICE> are *refused*');
    expect(reply).toContain('Rule 1, “large renewals”, doesn’t apply to this task.');
    expect(reply).toContain('Decided by rule 2, “the café stays”.');
    expect(await readCommandReply(t.workspace, t.bob, '/domain policy test delete cafe.rest')).toContain(
      'Rule 2, “the café stays”, doesn’t apply to this requester.',
    );
  });
});

describe('/domain policy replay', () => {
  it('shows admins which orders the draft would have decided differently', async () => {
    const renewal = await requestByCommand(t.workspace, t.alice, '/domain renew cafe.rest');
    const barRenewal = await requestByCommand(t.workspace, t.alice, '/domain renew bar.rest');
    await addRule({
      rule_name: 'renewals are free',
      tasks: ['renew'],
      names: 'cafe.rest',
      by: ['U0ALICE'],
      decision: 'free',
    });
    const reply = await readCommandReply(t.workspace, t.ada, '/domain policy replay 30');
    expect(reply).toContain('2 orders: 1 unchanged, 0 *stricter*, 1 *looser*');
    expect(reply).toContain(renewal.id);
    expect(reply).not.toContain(barRenewal.id);
    expect(await readCommandReply(t.workspace, t.alice, '/domain policy replay 30')).toContain('only admins');
    expect(await readCommandReply(t.workspace, t.ada, '/domain policy replay 400')).toContain('Use 1 to 365');
  });
});

describe('publishing the draft', () => {
  it('shows the changes and takes effect once another admin confirms', async () => {
    const pendingOrder = await requestByCommand(t.workspace, t.alice, '/domain renew snack.rest');
    const snackRule = { rule_name: 'snacks', tasks: ['renew'], names: 'snack.rest', approvers: ['U0CAROL'] };
    await addRule({ ...snackRule, decision: 'approve' });
    const list = await showPolicy(t.ada);
    const revision = buttonValue(list, 'policy_publish');
    const reply = await performAndReadReply(t.workspace, t.ada, () => t.ada.click(list, 'policy_publish'));
    expect(reply).toContain('Added “large renewals” as rule 1');
    expect(reply).toContain('Waiting for <@U0BOB> to confirm.');
    expect(buttonsOf(await showPolicy(t.ada))).not.toContain('policy_confirm');
    const confirmationRequest = await t.workspace.waitFor(
      () =>
        t.workspace.messages('D0BOB').findLast((message) => buttonsOf(message).includes('policy_confirm')),
      { what: 'the request to Bob' },
    );
    expect(textOf(confirmationRequest)).toContain('<@U0ADA> published new approval rules');
    expect(textOf(confirmationRequest)).toContain('Added “the café stays” as rule 2');
    expect(buttonValue(confirmationRequest, 'policy_confirm')).toBe(revision);
    await t.bob.click(confirmationRequest, 'policy_confirm');
    await t.workspace.waitFor(
      () =>
        t.workspace
          .messages('D0ADA')
          .find((message) => textOf(message).includes('Version 1 of the policy is in force')),
      { what: 'a message to Ada' },
    );
    const policyForAlice = await showPolicy(t.alice);
    expect(textOf(policyForAlice)).toContain(
      'Version 1 is in force, published by <@U0ADA>, confirmed by <@U0BOB>',
    );
    expect(textOf(policyForAlice)).toContain('over *€100.00*');
    await t.workspace.waitFor(
      () => textOf(pendingOrder.card).includes('The policy has become stricter since') || undefined,
      { what: 'the pending card to show the stricter policy' },
    );
  });

  it('can’t be confirmed by the publisher, or after the draft has changed', async () => {
    await addRule({ ...FREE_REDIRECTS, rule_name: 'users are free', tasks: ['user'] });
    // One renewal is free under the version in force too, but needed an approval when it was requested.
    expect(await readCommandReply(t.workspace, t.ada, '/domain policy replay 30')).toContain(
      '3 orders: 1 unchanged, 0 *stricter*, 1 *looser*, 1 with *other approvers*',
    );
    const draftForAda = await showPolicy(t.ada);
    await performAndReadReply(t.workspace, t.ada, () => t.ada.click(draftForAda, 'policy_publish'));
    const revision = buttonValue(await showPolicy(t.bob), 'policy_confirm');
    await forgeClick(t.workspace, 'U0ADA', 'policy_confirm', revision);
    await t.workspace.waitFor(
      () =>
        t.workspace.messages('D0ADA').find((message) => textOf(message).includes('*another admin* has to')),
      { what: 'the reason for Ada' },
    );
    expect(textOf(await showPolicy(t.alice))).toContain('Version 1 is in force');
    await addRule({ ...FREE_REDIRECTS, rule_name: 'contacts are free', tasks: ['ssl-contact'] });
    const confirmationRequest = t.workspace.messages('D0BOB').at(-1);
    if (confirmationRequest === undefined) throw new Error('no request to Bob');
    const lateReply = await performAndReadReply(t.workspace, t.bob, () =>
      t.bob.click(confirmationRequest, 'policy_confirm'),
    );
    expect(lateReply).toContain('someone changed, discarded or confirmed the draft');
    expect(textOf(await showPolicy(t.alice))).toContain('Version 1 is in force');
  });

  it('can be canceled by discarding the draft', async () => {
    const list = await showPolicy(t.ada);
    await t.ada.click(list, 'policy_discard');
    await waitForEphemeral(t.workspace, t.ada, 'the message that the draft was discarded', (message) =>
      textOf(message).includes('The draft was discarded.'),
    );
    expect(buttonsOf(await showPolicy(t.ada))).not.toContain('policy_publish');
  });
});

/** Downloads the latest file in a direct message. */
async function downloadFile(channel: string): Promise<{ readonly name: string; readonly text: string }> {
  const file = t.workspace.messages(channel).findLast(({ files }) => files !== undefined)?.files?.[0];
  if (file === undefined) throw new Error('no file was sent');
  return {
    name: file.name,
    text: await (await fetch(new URL(file.url_private_download, t.workspace.url))).text(),
  };
}

describe('a policy as YAML', () => {
  it('can be downloaded by everyone and uploaded again without a difference', async () => {
    const policyForAlice = await showPolicy(t.alice);
    await performAndReadReply(t.workspace, t.alice, () => t.alice.click(policyForAlice, 'policy_download'));
    const { name, text } = await downloadFile('D0ALICE');
    expect(name).toBe('domain-steward-policy-version-1.yaml');
    expect(text).toContain('- rule_name: large renewals');
    expect(text).toContain('approvers: [U0BOB, S0APPROVERS]');
    const form = await openPolicyForm('policy_upload');
    expectFormClosed(await submit(form, { rules: text }));
    await waitForEphemeral(t.workspace, t.ada, 'the message that the draft was replaced', (each) =>
      textOf(each).includes('I replaced the draft.'),
    );
    const list = await showPolicy(t.ada);
    await t.ada.click(list, 'policy_publish');
    await waitForEphemeral(t.workspace, t.ada, 'the message that there is nothing to publish', (each) =>
      textOf(each).includes('nothing to publish'),
    );
  });

  it('is rejected with the line of every error, or if the draft changed in the meantime', async () => {
    const form = await openPolicyForm('policy_upload');
    const invalidResult = await submit(form, {
      rules: '- rule_name: a\n  tasks: [fly]\n  names: ["*"]\n  decision: maybe',
    });
    expect(invalidResult).toMatchObject({
      outcome: 'errors',
      errors: {
        rules: expect.stringMatching(/Line 2, .*Unknown task “fly”[\s\S]*Line 4, .*isn’t a decision/),
      },
    });
    const laterForm = await openPolicyForm('policy_upload');
    const rules = '- {rule_name: a, tasks: [user], names: ["*"], decision: free}';
    expectFormClosed(await submit(laterForm, { rules }));
    expect(await submit(form, { rules })).toMatchObject({
      outcome: 'errors',
      errors: { rules: expect.stringContaining('someone changed the draft') },
    });
    await t.ada.close(form);
  });
});

describe('a policy template', () => {
  it('asks for the people of each role and becomes the draft', async () => {
    const form = await openPolicyForm('policy_start', 'small_team');
    expect(listFields(form)).toEqual(['managers', 'managers_groups']);
    expect(await submit(form, {})).toMatchObject({
      outcome: 'errors',
      errors: { managers: 'Choose at least one person or group.' },
    });
    const reply = await performAndReadReply(t.workspace, t.ada, async () =>
      expectFormClosed(await submit(form, { managers: ['U0BOB'], managers_groups: ['S0APPROVERS'] })),
    );
    expect(reply).toContain('need *approval from <@U0BOB> or a member of <!subteam^S0APPROVERS>*');
    expect(listRuleNames(await showPolicy(t.ada))).toEqual([
      'Redirects need no approval',
      'Risky tasks on guarded names need approval',
      'Managers can change nameservers without approval',
      'Other risky tasks need approval',
    ]);
    await publishDraft(2);
    expect(textOf(await showPolicy(t.alice))).toContain('Version 2 is in force');
  });
});
