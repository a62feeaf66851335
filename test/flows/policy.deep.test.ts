import type { Actor, Message, View } from '@domain-steward/slack-workspace';
import { describe, expect, it } from 'vitest';
import { actUntilOpened, answerTo, buttonsOf, textOf, toldAfter, useTestDemo } from '../support/demo.ts';
import { ask } from '../support/orders.ts';
import { buttonValue, clickAs, closed, ephemeral, fieldsOf, filledOf } from '../support/people.ts';

const t = useTestDemo({ settings: { ADMINS: 'U0ADA,U0BOB' } });

/** The policy as a person sees it. */
async function policyOf(person: Actor): Promise<Message> {
  await answerTo(t.workspace, person, '/domain policy');
  return lastTold(person);
}

function lastTold(person: Actor): Message {
  const message = person.ephemerals().at(-1);
  if (message === undefined) throw new Error('nothing was said');
  return message;
}

/** Opens the form of a button of the policy. */
async function formBehind(button: string, value?: string): Promise<View> {
  const list = await policyOf(t.ada);
  const which = value === undefined ? {} : { value };
  return actUntilOpened(t.workspace, t.ada, () => t.ada.click(list, button, which));
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
  const form = await formBehind('policy_add');
  return toldAfter(t.workspace, t.ada, async () => closed(await submit(form, values)));
}

/** The rules in a message with buttons, in order. */
function rulesOf(message: Message): string[] {
  return [
    ...JSON.stringify(message.blocks).matchAll(
      /"action_id":"policy_edit"[^}]*\}?[^}]*"value":"\d+ ([^"]+)"/g,
    ),
  ].map(([, name]) => name ?? '');
}

const LARGE: Values = {
  rule_name: 'large renewals',
  tasks: ['renew'],
  names: '*.rest',
  over: '100.00',
  decision: 'approve',
  approvers: ['U0BOB'],
  approver_groups: ['S0APPROVERS'],
  needed: '2',
};
const FREE: Values = { rule_name: 'redirects are free', tasks: ['redirect'], names: '*', decision: 'free' };
const REFUSED: Values = {
  rule_name: 'the café stays',
  tasks: ['delete', 'transfer'],
  names: 'café.rest\ncafe.rest',
  by: ['U0ALICE'],
  decision: 'refuse',
};

/** Publishes the draft as Ada, and confirms it as Bob. */
async function bringIntoForce(version: number): Promise<void> {
  const list = await policyOf(t.ada);
  await toldAfter(t.workspace, t.ada, () => t.ada.click(list, 'policy_publish'));
  const seen = await policyOf(t.bob);
  await t.bob.click(seen, 'policy_confirm');
  await ephemeral(t.workspace, t.bob, 'that it is in force', (message) =>
    textOf(message).includes(`Version ${version} of the policy is in force`),
  );
}

describe('before there are rules', () => {
  it('everyone sees what the settings decide, and only admins can change it', async () => {
    const seen = await policyOf(t.alice);
    expect(textOf(seen)).toContain('only the settings apply');
    expect(textOf(seen)).toContain(
      '*Registrations, transfers, renewals and restores* of every name need *approval from <@U0BOB> or a member of <!subteam^S0APPROVERS>*.',
    );
    expect(textOf(seen)).toContain('*Everything else* needs *no approval*.');
    expect(buttonsOf(seen)).toEqual([]);
    expect(buttonsOf(await policyOf(t.ada))).toEqual([
      'policy_add',
      'policy_download',
      'policy_upload',
      'policy_start',
    ]);
    await t.ada.close(await formBehind('policy_add'));
    const told = await toldAfter(t.workspace, t.alice, () =>
      clickAs(t.workspace, 'U0ALICE', 'policy_add', 'new'),
    );
    expect(told).toContain('Only admins can do this.');
  });
});

describe('a rule', () => {
  it('is edited in a form with the fields of its file, and every error is shown at its field', async () => {
    const form = await formBehind('policy_add');
    expect(form.callback_id).toBe('policy_rule');
    expect(fieldsOf(form)).toEqual([
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
    const more = { names: '*', over: '', ttl: '', approvers: ['U0BOB'], needed: '3' };
    expect(await submit(form, more)).toMatchObject({
      errors: {
        needed: 'The rule needs 3 approvals but has only 1 approvers. Choose more approvers, or enter 1.',
      },
    });
    const other = 'This is only for rules that need approval. Leave it empty, or change the decision.';
    expect(await submit(form, { ...more, decision: 'free' })).toMatchObject({
      errors: { approvers: other, needed: other },
    });
    await t.ada.close(form);
  });

  it('is saved to the draft, which everyone can try and which changes nothing', async () => {
    const told = await addRule(LARGE);
    expect(told).toContain('I saved rule 1 to the draft.');
    expect(told).toContain(
      '*Renewals* of `*.rest` over *€100.00* need *2 approvals from <@U0BOB> or members of <!subteam^S0APPROVERS>*.',
    );
    expect(await addRule(FREE)).toContain('*Redirects* of every name need *no approval*.');
    expect(await addRule({ ...REFUSED, approvers: [] })).toContain(
      '*Deletions and transfers* of `café.rest (xn--caf-dma.rest)` and `cafe.rest` requested by *<@U0ALICE>* are *refused*.',
    );
    expect(rulesOf(await policyOf(t.ada))).toEqual([
      'large renewals',
      'redirects are free',
      'the café stays',
    ]);
    const seen = await policyOf(t.alice);
    expect(textOf(seen)).toContain('only the settings apply');
    expect(textOf(seen)).not.toContain('€100.00');
  });

  it('accepts typed ids if Slack doesn’t support the pickers', async () => {
    t.workspace.faults.set({ method: 'views.open', kind: 'error', code: 'invalid_arguments', times: 1 });
    const form = await formBehind('policy_edit', '1 large renewals');
    expect(filledOf(form)).toMatchObject({ approvers: 'U0BOB,S0APPROVERS', over: '100.00' });
    const told = await toldAfter(t.workspace, t.ada, async () =>
      closed(
        await submit(form, {
          tasks: ['renew'],
          approvers: '<@U0BOB|bob b>, S0APPROVERS',
          by: 'U0CAROL S0APPROVERS',
        }),
      ),
    );
    expect(told).toContain('requested by *<@U0CAROL> or members of <!subteam^S0APPROVERS>*');
    expect(told).toContain('need *2 approvals from <@U0BOB> or members of <!subteam^S0APPROVERS>*');
  });

  it('moves up, once however often its click is delivered', async () => {
    const order = ['large renewals', 'the café stays', 'redirects are free'];
    const list = await policyOf(t.ada);
    await t.ada.click(list, 'policy_up', { value: '3 the café stays' });
    await ephemeral(t.workspace, t.ada, 'the new order', (each) => rulesOf(each).join() === order.join());
    await clickAs(t.workspace, 'U0ADA', 'policy_up', '3 the café stays');
    expect(rulesOf(await policyOf(t.ada))).toEqual(order);
  });

  it('isn’t overwritten by a form that was opened before a change', async () => {
    const first = await formBehind('policy_edit', '3 redirects are free');
    const seen = await policyOf(t.bob);
    const second = await actUntilOpened(t.workspace, t.bob, () =>
      t.bob.click(seen, 'policy_edit', { value: '3 redirects are free' }),
    );
    closed(await submit(second, { names: '*.rest' }, t.bob));
    expect(await submit(first, { names: '*.example' })).toMatchObject({
      outcome: 'errors',
      errors: { rule_name: expect.stringContaining('someone changed or removed this rule') },
    });
    await t.ada.close(first);
    expect(textOf(await policyOf(t.ada))).toContain('*Redirects* of `*.rest` need *no approval*.');
  });

  it('is removed with a click, and a second one says so', async () => {
    await addRule({ ...FREE, rule_name: 'too much' });
    const list = await policyOf(t.ada);
    const which = { value: '4 too much' };
    await t.ada.click(list, 'policy_remove', which);
    await ephemeral(t.workspace, t.ada, 'the list without it', (each) => rulesOf(each).length === 3);
    await clickAs(t.workspace, 'U0ADA', 'policy_remove', which.value);
    await ephemeral(t.workspace, t.ada, 'that it is gone', (each) =>
      textOf(each).includes('This rule no longer exists'),
    );
  });
});

describe('trying a line', () => {
  it('names the deciding rule, and why each earlier one doesn’t decide', async () => {
    const told = await answerTo(
      t.workspace,
      t.bob,
      '/domain policy test delete cafe.rest by <@U0ALICE|alice>',
    );
    expect(told).toContain('Under the *draft* (not in force yet)');
    expect(told).toContain('*Deletions of `cafe.rest`* requested by <@U0ALICE> are *refused*');
    expect(told).toContain('Rule 1, “large renewals”, doesn’t apply to this task.');
    expect(told).toContain('Decided by rule 2, “the café stays”.');
    expect(await answerTo(t.workspace, t.bob, '/domain policy test delete cafe.rest')).toContain(
      'Rule 2, “the café stays”, doesn’t apply to this requester.',
    );
  });
});

describe('a replay', () => {
  it('lists what the draft would have decided differently, for admins', async () => {
    const renewal = await ask(t.workspace, t.alice, '/domain renew cafe.rest');
    const listed = await ask(t.workspace, t.alice, '/domain renew bar.rest');
    await addRule({
      rule_name: 'renewals are free',
      tasks: ['renew'],
      names: 'cafe.rest',
      by: ['U0ALICE'],
      decision: 'free',
    });
    const told = await answerTo(t.workspace, t.ada, '/domain policy replay 30');
    expect(told).toContain('2 orders: 1 unchanged, 0 *stricter*, 1 *looser*');
    expect(told).toContain(renewal.id);
    expect(told).not.toContain(listed.id);
    expect(await answerTo(t.workspace, t.alice, '/domain policy replay 30')).toContain('only admins');
    expect(await answerTo(t.workspace, t.ada, '/domain policy replay 400')).toContain('Use 1 to 365');
  });
});

describe('publishing', () => {
  it('shows the changes, asks another admin, and takes effect only with their confirmation', async () => {
    const waiting = await ask(t.workspace, t.alice, '/domain renew snack.rest');
    const snacks = { rule_name: 'snacks', tasks: ['renew'], names: 'snack.rest', approvers: ['U0CAROL'] };
    await addRule({ ...snacks, decision: 'approve' });
    const list = await policyOf(t.ada);
    const revision = buttonValue(list, 'policy_publish');
    const told = await toldAfter(t.workspace, t.ada, () => t.ada.click(list, 'policy_publish'));
    expect(told).toContain('Added “large renewals” as rule 1');
    expect(told).toContain('Waiting for <@U0BOB> to confirm.');
    expect(buttonsOf(await policyOf(t.ada))).not.toContain('policy_confirm');
    const asked = await t.workspace.waitFor(
      () =>
        t.workspace.messages('D0BOB').findLast((message) => buttonsOf(message).includes('policy_confirm')),
      { what: 'Bob to be asked' },
    );
    expect(textOf(asked)).toContain('<@U0ADA> published new approval rules');
    expect(textOf(asked)).toContain('Added “the café stays” as rule 2');
    expect(buttonValue(asked, 'policy_confirm')).toBe(revision);
    await t.bob.click(asked, 'policy_confirm');
    await t.workspace.waitFor(
      () =>
        t.workspace
          .messages('D0ADA')
          .find((message) => textOf(message).includes('Version 1 of the policy is in force')),
      { what: 'a message to Ada' },
    );
    const seen = await policyOf(t.alice);
    expect(textOf(seen)).toContain('Version 1 is in force, published by <@U0ADA>, confirmed by <@U0BOB>');
    expect(textOf(seen)).toContain('over *€100.00*');
    await t.workspace.waitFor(
      () => textOf(waiting.card).includes('The policy has become stricter since') || undefined,
      { what: 'the card of what waits to say so' },
    );
  });

  it('can’t be confirmed by its publisher, nor after a change', async () => {
    await addRule({ ...FREE, rule_name: 'users are free', tasks: ['user'] });
    // One renewal is free by the version in force, too, but needed an approval at its request.
    expect(await answerTo(t.workspace, t.ada, '/domain policy replay 30')).toContain(
      '3 orders: 1 unchanged, 0 *stricter*, 1 *looser*, 1 with *other approvers*',
    );
    const first = await policyOf(t.ada);
    await toldAfter(t.workspace, t.ada, () => t.ada.click(first, 'policy_publish'));
    const revision = buttonValue(await policyOf(t.bob), 'policy_confirm');
    await clickAs(t.workspace, 'U0ADA', 'policy_confirm', revision);
    await t.workspace.waitFor(
      () =>
        t.workspace.messages('D0ADA').find((message) => textOf(message).includes('*another admin* has to')),
      { what: 'Ada to hear why not' },
    );
    expect(textOf(await policyOf(t.alice))).toContain('Version 1 is in force');
    await addRule({ ...FREE, rule_name: 'contacts are free', tasks: ['ssl-contact'] });
    const asked = t.workspace.messages('D0BOB').at(-1);
    if (asked === undefined) throw new Error('Bob was not asked');
    const late = await toldAfter(t.workspace, t.bob, () => t.bob.click(asked, 'policy_confirm'));
    expect(late).toContain('someone changed, discarded or confirmed the draft');
    expect(textOf(await policyOf(t.alice))).toContain('Version 1 is in force');
  });

  it('can be cancelled: the draft is discarded', async () => {
    const list = await policyOf(t.ada);
    await t.ada.click(list, 'policy_discard');
    await ephemeral(t.workspace, t.ada, 'that it is discarded', (message) =>
      textOf(message).includes('The draft was discarded.'),
    );
    expect(buttonsOf(await policyOf(t.ada))).not.toContain('policy_publish');
  });
});

/** The newest file in a direct message. */
async function fileFor(channel: string): Promise<{ readonly name: string; readonly text: string }> {
  const file = t.workspace.messages(channel).findLast(({ files }) => files !== undefined)?.files?.[0];
  if (file === undefined) throw new Error('no file came');
  return {
    name: file.name,
    text: await (await fetch(new URL(file.url_private_download, t.workspace.url))).text(),
  };
}

describe('as YAML', () => {
  it('is exported for everyone as a file that is read back as the same rules', async () => {
    const seen = await policyOf(t.alice);
    await toldAfter(t.workspace, t.alice, () => t.alice.click(seen, 'policy_download'));
    const { name, text } = await fileFor('D0ALICE');
    expect(name).toBe('domain-steward-policy-version-1.yaml');
    expect(text).toContain('- rule_name: large renewals');
    expect(text).toContain('approvers: [U0BOB, S0APPROVERS]');
    const form = await formBehind('policy_upload');
    closed(await submit(form, { rules: text }));
    await ephemeral(t.workspace, t.ada, 'that it is the draft', (each) =>
      textOf(each).includes('I replaced the draft.'),
    );
    const list = await policyOf(t.ada);
    await t.ada.click(list, 'policy_publish');
    await ephemeral(t.workspace, t.ada, 'that there is no difference', (each) =>
      textOf(each).includes('nothing to publish'),
    );
  });

  it('has every problem with its line, and is refused if the draft has changed meanwhile', async () => {
    const form = await formBehind('policy_upload');
    const wrong = await submit(form, {
      rules: '- rule_name: a\n  tasks: [fly]\n  names: ["*"]\n  decision: maybe',
    });
    expect(wrong).toMatchObject({
      outcome: 'errors',
      errors: {
        rules: expect.stringMatching(/Line 2, .*Unknown task “fly”[\s\S]*Line 4, .*isn’t a decision/),
      },
    });
    const other = await formBehind('policy_upload');
    const rules = '- {rule_name: a, tasks: [user], names: ["*"], decision: free}';
    closed(await submit(other, { rules }));
    expect(await submit(form, { rules })).toMatchObject({
      outcome: 'errors',
      errors: { rules: expect.stringContaining('someone changed the draft') },
    });
    await t.ada.close(form);
  });
});

describe('a starting point', () => {
  it('asks for each role’s people and becomes the draft', async () => {
    const form = await formBehind('policy_start', 'small_team');
    expect(fieldsOf(form)).toEqual(['managers', 'managers_groups']);
    expect(await submit(form, {})).toMatchObject({
      outcome: 'errors',
      errors: { managers: 'Choose at least one person or group.' },
    });
    const told = await toldAfter(t.workspace, t.ada, async () =>
      closed(await submit(form, { managers: ['U0BOB'], managers_groups: ['S0APPROVERS'] })),
    );
    expect(told).toContain('need *approval from <@U0BOB> or a member of <!subteam^S0APPROVERS>*');
    expect(rulesOf(await policyOf(t.ada))).toEqual([
      'Redirects need no approval',
      'Risky tasks on guarded names need approval',
      'Managers can change nameservers without approval',
      'Risky tasks need approval',
    ]);
    await bringIntoForce(2);
    expect(textOf(await policyOf(t.alice))).toContain('Version 2 is in force');
  });
});
