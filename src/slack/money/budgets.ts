import { z } from 'zod';
import { formatDecimal, parseAmount } from '../../money/amount.ts';
import { BUDGET_SPANS, type Budget } from '../../money/budget.ts';
import type { Feature, FormFeature, SubmissionCall, Submitted } from '../feature.ts';
import { context, textMessage } from '../kit/blocks.ts';
import { choiceField, type FieldLook, type Form, field, fieldsOf, readForm } from '../kit/form.ts';
import { opening } from '../orders/ordering.ts';
import { BUDGET, budgetIntro } from './budget.view.ts';
import { PRICE_ISSUES } from './price.view.ts';

/* The team's budgets: everybody sees them with what was spent, and admins change them. */

/** Like the tag of a name: letters, digits, hyphen and underscore. */
const TAG = /^[\p{L}\p{N}][\p{L}\p{N}_-]{0,49}$/u;

/** What a budget's form asks for. @param currency ISO 4217 code of the amount */
const budgetFields = (currency: string) =>
  z.object({
    tag: field(
      { label: 'Tag', kind: 'text', placeholder: 'brand', hint: 'Empty: all names.' },
      z
        .string()
        .toLowerCase()
        .regex(TAG, 'Give one tag of letters, digits and hyphens, such as brand.')
        .optional(),
    ),
    amount: field(AMOUNT, amountIn(currency)),
    span: choiceField(
      'For',
      { month: 'a month', year: 'a year' } satisfies Record<Budget['span'], string>,
      z.enum(BUDGET_SPANS, 'Choose a month or a year.'),
    ),
  });

const AMOUNT: FieldLook = { label: 'Amount', kind: 'text', placeholder: '1000.00' };

/** The same for a budget that is there. */
const editFields = (currency: string) =>
  budgetFields(currency).extend({
    amount: field({ ...AMOUNT, hint: 'Empty: the budget is removed.' }, amountIn(currency).optional()),
  });

/** An amount with a point before the decimals. */
function amountIn(currency: string) {
  return z.string(PRICE_ISSUES.not_an_amount).transform((text, context) => {
    const read = parseAmount(text, currency);
    if (read.ok) return read.amount;
    context.addIssue(PRICE_ISSUES[read.issue]);
    return z.NEVER;
  });
}

const FORM: Omit<Form<'budget'>, 'fields'> = { name: 'budget', title: 'Budget', submit: 'Save' };

async function find({ deps }: Pick<SubmissionCall, 'deps'>, id: string): Promise<Budget | undefined> {
  return (await deps.budgets.list()).find((budget) => budget.id === id);
}

const budgetForm: FormFeature<'budget'> = {
  form: { ...FORM, fields: fieldsOf(budgetFields('EUR')) },

  async render(call, origin, values) {
    const budget = origin.subject === undefined ? undefined : await find(call, origin.subject);
    const { currency } = budget?.amount ?? call.deps;
    const declared = origin.subject === undefined ? budgetFields(currency) : editFields(currency);
    return {
      form: { ...FORM, fields: fieldsOf(declared) },
      values: {
        ...(budget === undefined
          ? { span: 'month' }
          : { tag: budget.tag ?? '', span: budget.span, amount: formatDecimal(budget.amount) }),
        ...values,
      },
      intro: [context(budgetIntro(budget, currency))],
    };
  },

  submit: (call) => (call.origin.subject === undefined ? add(call) : edit(call, call.origin.subject)),
};

async function add(call: SubmissionCall): Promise<Submitted> {
  const { budgets, currency, now } = call.deps;
  const read = readForm(budgetFields(currency), call.values);
  if ('errors' in read) return read;
  const { tag, span, amount } = read.value;
  const outcome = await budgets.add({ tag, span, amount }, call.person.id, now());
  return outcome === 'taken'
    ? { errors: { span: BUDGET.taken } }
    : saved(call, BUDGET.saved({ tag, span, amount }));
}

async function edit(call: SubmissionCall, id: string): Promise<Submitted> {
  const { budgets, now } = call.deps;
  const budget = await find(call, id);
  if (budget === undefined) return { errors: { amount: BUDGET.gone } };
  const read = readForm(editFields(budget.amount.currency), call.values);
  if ('errors' in read) return read;
  const { tag, span, amount } = read.value;
  if (tag !== budget.tag) return { errors: { tag: BUDGET.another } };
  if (span !== budget.span) return { errors: { span: BUDGET.another } };
  if (amount === undefined) {
    await budgets.remove(id, call.person.id, now());
    return saved(call, BUDGET.removed(budget));
  }
  const outcome = await budgets.setAmount(id, amount.minor, call.person.id, now());
  if (outcome === 'gone') return { errors: { amount: BUDGET.gone } };
  return outcome === 'same'
    ? { say: textMessage(BUDGET.same) }
    : saved(call, BUDGET.saved({ ...budget, amount }));
}

/** Cards of waiting orders show the budgets, so they are shown again. */
async function saved({ deps, person }: SubmissionCall, said: string): Promise<Submitted> {
  deps.log.info({ by: person.id }, 'budgets changed');
  await deps.refreshWaitingCards();
  return { say: textMessage(said) };
}

export const budgets = {
  forms: [budgetForm],
  actions: [opening('budget_add', budgetForm), opening('budget_edit', budgetForm, ({ value }) => value)],
} as const satisfies Feature;
