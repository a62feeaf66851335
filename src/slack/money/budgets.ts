import { z } from 'zod';
import { type Amount, formatDecimal, parseAmount } from '../../money/amount.ts';
import { BUDGET_SPANS, type Budget } from '../../money/budget.ts';
import type { Feature, Interaction, SubmissionCall, SubmissionResult } from '../feature.ts';
import { context as contextBlock, textMessage } from '../kit/blocks.ts';
import { createListForm } from '../kit/edited-list.ts';
import { choiceField, type FieldDisplay, field } from '../kit/form.ts';
import { createOpenFormAction } from '../open-form.ts';
import { BUDGET_TEXTS, budgetIntro } from './budget.view.ts';
import { PRICE_ISSUE_TEXTS } from './price.view.ts';

/* The team's budgets. Everyone can see them; admins can change them. */

const TAG_PATTERN = /^[\p{L}\p{N}][\p{L}\p{N}_-]{0,49}$/u;

function createAmountSchema(currency: string) {
  return z.string(PRICE_ISSUE_TEXTS.not_an_amount).transform((text, context) => {
    const parsed = parseAmount(text, currency);
    if (parsed.ok) return parsed.amount;
    context.addIssue(PRICE_ISSUE_TEXTS[parsed.issue]);
    return z.NEVER;
  });
}

const AMOUNT_DISPLAY: FieldDisplay = { label: 'Amount', kind: 'text', placeholder: '1000.00' };

/** An empty amount removes an existing budget. */
function createAmountField(budget: Budget | undefined, currency: string): z.ZodType<Amount | undefined> {
  return budget === undefined
    ? field(AMOUNT_DISPLAY, createAmountSchema(currency))
    : field(
        { ...AMOUNT_DISPLAY, hint: 'Leave empty to remove the budget.' },
        createAmountSchema(budget.amount.currency).optional(),
      );
}

const budgetForm = createListForm({
  form: { name: 'budget', title: 'Budget', submit: 'Save' },
  createSchema: (budget, _values, call) =>
    z.object({
      tag: field(
        { label: 'Tag', kind: 'text', placeholder: 'brand', hint: 'Leave empty for all names.' },
        z
          .string()
          .toLowerCase()
          .regex(TAG_PATTERN, 'Enter one tag of letters, digits, hyphens and underscores, such as brand.')
          .optional(),
      ),
      amount: createAmountField(budget, call?.context.currency ?? 'EUR'),
      span: choiceField(
        'Period',
        { month: 'Month', year: 'Year' } satisfies Record<Budget['span'], string>,
        z.enum(BUDGET_SPANS, 'Choose a month or a year.'),
      ),
    }),
  find: async ({ context }: Interaction, id: string) =>
    (await context.budgets.list()).find((budget) => budget.id === id),
  buildValues: (budget) =>
    budget === undefined
      ? { span: 'month' }
      : { tag: budget.tag ?? '', span: budget.span, amount: formatDecimal(budget.amount) },
  intro: (budget, { context }) => [contextBlock(budgetIntro(budget, (budget?.amount ?? context).currency))],
  notFoundErrors: { amount: BUDGET_TEXTS.gone },

  async save(call: SubmissionCall, { tag, span, amount }, budget): Promise<SubmissionResult> {
    const { budgets, now } = call.context;
    const userId = call.person.id;
    if (budget !== undefined && tag !== budget.tag) return { errors: { tag: BUDGET_TEXTS.notEditable } };
    if (budget !== undefined && span !== budget.span) return { errors: { span: BUDGET_TEXTS.notEditable } };
    if (amount === undefined) {
      if (budget === undefined) return { errors: { amount: PRICE_ISSUE_TEXTS.not_an_amount } };
      await budgets.remove(budget.id, userId, now());
      return finishSave(call, BUDGET_TEXTS.removed(budget));
    }
    const outcome =
      budget === undefined
        ? await budgets.add({ tag, span, amount }, userId, now())
        : await budgets.setAmount(budget.id, amount.minor, userId, now());
    switch (outcome) {
      case 'taken':
        return { errors: { span: BUDGET_TEXTS.taken } };
      case 'gone':
        return { errors: { amount: BUDGET_TEXTS.gone } };
      case 'same':
        return { reply: textMessage(BUDGET_TEXTS.unchanged) };
      default:
        return finishSave(call, BUDGET_TEXTS.saved({ tag, span, amount }));
    }
  },
});

async function finishSave({ context, person }: SubmissionCall, text: string): Promise<SubmissionResult> {
  context.log.info({ by: person.id }, 'budgets changed');
  await context.refreshPendingCards();
  return { reply: textMessage(text) };
}

export const budgets = {
  forms: [budgetForm],
  actions: [
    createOpenFormAction('budget_add', budgetForm),
    createOpenFormAction('budget_edit', budgetForm, ({ value }) => value),
  ],
} as const satisfies Feature;
