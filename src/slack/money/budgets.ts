import { formatDecimal, parseAmount } from '../../money/amount.ts';
import { BUDGET_SPANS, type Budget } from '../../money/budget.ts';
import { type Feature, type FormFeature, type SubmissionCall, type Submitted, textOf } from '../feature.ts';
import { context, textMessage } from '../kit/blocks.ts';
import type { Form } from '../kit/form.ts';
import { opening } from '../orders/ordering.ts';
import { budgetLine } from './budget.view.ts';
import { PRICE_ISSUES } from './price.view.ts';

/* The team's budgets: everybody sees them with what was spent, and admins change them. */

/** Like the tag of a name: letters, digits, hyphen and underscore. */
const TAG = /^[\p{L}\p{N}][\p{L}\p{N}_-]{0,49}$/u;

const form: Form = {
  name: 'budget',
  title: 'Budget',
  submit: 'Save',
  fields: [
    {
      name: 'tag',
      label: 'Tag',
      kind: 'text',
      optional: true,
      placeholder: 'brand',
      hint: 'Empty: all names.',
    },
    { name: 'amount', label: 'Amount', kind: 'text', placeholder: '1000.00' },
    {
      name: 'span',
      label: 'For',
      kind: 'choice',
      options: BUDGET_SPANS.map((span) => ({ value: span, text: `a ${span}` })),
    },
  ],
};

const editFields: Form = {
  ...form,
  fields: form.fields.map((field) =>
    field.name === 'amount' ? { ...field, optional: true, hint: 'Empty: the budget is removed.' } : field,
  ),
};

const GONE = 'This budget is not there any more. Close this and look at `/domain spend` again.';

async function find({ deps }: Pick<SubmissionCall, 'deps'>, id: string): Promise<Budget | undefined> {
  return (await deps.budgets.list()).find((budget) => budget.id === id);
}

const budgetForm: FormFeature = {
  form,
  needs: 'admin',

  async render(call, origin, values) {
    const budget = origin.subject === undefined ? undefined : await find(call, origin.subject);
    const { currency } = budget?.amount ?? call.deps;
    return {
      form: origin.subject === undefined ? form : editFields,
      values: {
        ...(budget === undefined
          ? { span: 'month' }
          : { tag: budget.tag ?? '', span: budget.span, amount: formatDecimal(budget.amount) }),
        ...values,
      },
      intro: [
        context(
          `${budget === undefined ? '' : `Now: ${budgetLine(budget)}. `}In ${currency}, months and years in UTC. Who changes what stands in the audit log.`,
        ),
      ],
    };
  },

  submit: (call) => (call.origin.subject === undefined ? add(call) : edit(call, call.origin.subject)),
};

async function add(call: SubmissionCall): Promise<Submitted> {
  const { budgets, currency, now } = call.deps;
  const tag = textOf(call.values, 'tag')?.toLowerCase();
  const amount = parseAmount(textOf(call.values, 'amount') ?? '', currency);
  const given = textOf(call.values, 'span');
  const span = BUDGET_SPANS.find((each) => each === given);
  const errors = {
    ...(tag === undefined || TAG.test(tag)
      ? {}
      : { tag: 'Give one tag of letters, digits and hyphens, such as brand.' }),
    ...(amount.ok ? {} : { amount: PRICE_ISSUES[amount.issue] }),
    ...(span === undefined ? { span: 'Choose a month or a year.' } : {}),
  };
  if (!amount.ok || span === undefined || Object.keys(errors).length > 0) return { errors };
  const outcome = await budgets.add({ tag, span, amount: amount.amount }, call.person.id, now());
  return outcome === 'taken'
    ? {
        errors: { span: 'There is a budget of this for that time already. Change that one.' },
      }
    : saved(call, `Saved: the budget of ${budgetLine({ id: '', tag, span, amount: amount.amount })}.`);
}

async function edit(call: SubmissionCall, id: string): Promise<Submitted> {
  const { budgets, now } = call.deps;
  const budget = await find(call, id);
  if (budget === undefined) return { errors: { amount: GONE } };
  const another = 'Another tag or time is another budget: close this and add it.';
  if (textOf(call.values, 'tag')?.toLowerCase() !== budget.tag) return { errors: { tag: another } };
  if (textOf(call.values, 'span') !== budget.span) return { errors: { span: another } };
  const text = textOf(call.values, 'amount');
  if (text === undefined) {
    await budgets.remove(id, call.person.id, now());
    return saved(call, `Removed: the budget of ${budgetLine(budget)}.`);
  }
  const read = parseAmount(text, budget.amount.currency);
  if (!read.ok) return { errors: { amount: PRICE_ISSUES[read.issue] } };
  const outcome = await budgets.setAmount(id, read.amount.minor, call.person.id, now());
  if (outcome === 'gone') return { errors: { amount: GONE } };
  return outcome === 'same'
    ? { say: textMessage('Nothing was changed: the budget says this already.') }
    : saved(call, `Saved: the budget of ${budgetLine({ ...budget, amount: read.amount })}.`);
}

/** Cards of waiting orders show the budgets, so they are shown again. */
async function saved({ deps, person }: SubmissionCall, said: string): Promise<Submitted> {
  deps.log.info({ by: person.id }, 'budgets changed');
  await deps.refreshWaitingCards();
  return { say: textMessage(said) };
}

export const budgets: Feature = {
  forms: [budgetForm],
  actions: [opening('budget_add', budgetForm), opening('budget_edit', budgetForm, ({ value }) => value)],
};
