import { z } from 'zod';
import { loadActiveMandates } from '../../mandates/life.ts';
import { formatDecimal } from '../../money/amount.ts';
import type { ListedPrice } from '../../money/ports.ts';
import { diffPrices, formatPriceKey, isSamePrice, type PriceEdit } from '../../money/prices.ts';
import {
  PRICE_COLUMNS,
  PRICE_FIELDS,
  parsePrice,
  parsePrices,
  toPriceCells,
} from '../../money/read-prices.ts';
import { getOrderTask } from '../../orders/tasks.ts';
import { findWeakeningEdits, type PriceLimits } from '../../policy/weakening.ts';
import { getUtcDay } from '../../zones/calendar-day.ts';
import { createCsvFields, readCsvInput } from '../attached-text.ts';
import {
  type ActionCall,
  type CommandCall,
  type Feature,
  type FormFeature,
  type Interaction,
  isAdmin,
  type SubmissionCall,
  type SubmissionResult,
} from '../feature.ts';
import { context as contextBlock, formatCount, type Message, textMessage } from '../kit/blocks.ts';
import { formatCsvFile } from '../kit/csv-file.ts';
import { createListForm } from '../kit/edited-list.ts';
import { buildFieldErrors, choiceField, textField, textOrEmptySchema, toFields } from '../kit/form.ts';
import { createPageActions } from '../kit/pages.ts';
import { createOpenFormAction } from '../open-form.ts';
import { MAX_PROPOSED_PRICES } from '../proposals/admin-proposal.view.ts';
import { proposeToAdmins } from '../proposals/proposals.ts';
import { sendFile } from '../send-file.ts';
import {
  lineIssuesText,
  PRICE_ISSUE_TEXTS,
  PRICE_LIST_TEXTS,
  PRICED_TASK_LABELS,
  priceListMessage,
  pricesSavedText,
} from './price.view.ts';

/* The team's price list. Everyone can see it; admins can change it. */

const priceSchema = z.object({
  zone: textField('Zone', { placeholder: 'com', isRequired: true }, textOrEmptySchema),
  task: choiceField('Task', PRICED_TASK_LABELS, textOrEmptySchema, { isRequired: true }),
  period: textField(
    'Years',
    {
      kind: 'number',
      range: { min: 1, max: 99 },
      hint: 'For registrations and renewals. Without a multi-year price, I multiply the 1-year price.',
    },
    textOrEmptySchema,
  ),
  amount: textField('Amount', { placeholder: '18.00', isRequired: true }, textOrEmptySchema),
  valid_from: textField(
    'Valid from',
    {
      placeholder: '2026-11-01',
      hint: 'As YYYY-MM-DD. The previous price stays in the list.',
      isRequired: true,
    },
    textOrEmptySchema,
  ),
  source: textField(
    'Source',
    { placeholder: 'Contract of 3 October, page 2', isRequired: true },
    textOrEmptySchema,
  ),
});

const priceForm = createListForm({
  form: { name: 'price', title: 'Price', submit: 'Save' },
  createSchema: () => priceSchema,
  find: async ({ context }: Interaction, id: string) =>
    (await context.prices.list()).find((price) => price.id === id),
  buildValues: (existing, { context }) =>
    existing === undefined
      ? { period: '1', valid_from: getUtcDay(context.now()) }
      : {
          zone: existing.zone,
          task: existing.task,
          period: String(existing.period),
          amount: formatDecimal(existing.amount),
          valid_from: existing.validFrom,
          source: existing.source,
        },
  intro: (existing, { context }) => [
    contextBlock(PRICE_LIST_TEXTS.intro((existing?.amount ?? context).currency)),
  ],
  notFoundErrors: { zone: PRICE_LIST_TEXTS.gone },

  async save(call: SubmissionCall, input, existing): Promise<SubmissionResult> {
    const parsed = parsePrice(input, (existing?.amount ?? call.context).currency);
    if (!parsed.ok) return { errors: buildFieldErrors(parsed.issues, (issue) => PRICE_ISSUE_TEXTS[issue]) };
    const newPrice = parsed.price;
    const list = await call.context.prices.list();
    if (existing === undefined) return saveEdits(call, list, diffPrices(list, [newPrice]), 'zone');
    if (list.some((price) => price.id !== existing.id && formatPriceKey(price) === formatPriceKey(newPrice)))
      return { errors: { valid_from: PRICE_LIST_TEXTS.taken } };
    return saveEdits(
      call,
      list,
      isSamePrice(existing, newPrice) ? [] : [{ before: existing, after: newPrice }],
      'zone',
    );
  },
});

async function loadPriceLimits({ context }: Interaction): Promise<PriceLimits> {
  const { budgets, orders, now } = context;
  const [{ rules }, budgetList, activeMandates] = await Promise.all([
    // Without a valid charter, the last signed rules apply instead of the published ones.
    orders.signing.policy.loadCurrentPolicy(),
    budgets.list(),
    loadActiveMandates(orders, 'system'),
  ]);
  const mandates = activeMandates.map(({ mandate: { terms } }) => ({
    names: terms.mandate_names,
    maxPrice: terms.max_price,
  }));
  return { rules, mandates, budgets: budgetList, getTaskRisk: getOrderTask, today: getUtcDay(now()) };
}

/**
 * Edits that weaken a rule, mandate or budget aren't saved until another admin confirms them.
 * @param field the form field that shows an error
 */
async function saveEdits(
  call: SubmissionCall,
  list: readonly ListedPrice[],
  edits: readonly PriceEdit[],
  field: string,
): Promise<SubmissionResult> {
  const { prices, log, now } = call.context;
  const weakeningEdits = findWeakeningEdits(list, edits, await loadPriceLimits(call));
  if (weakeningEdits.length > MAX_PROPOSED_PRICES)
    return { errors: { [field]: PRICE_LIST_TEXTS.tooManyToConfirm(MAX_PROPOSED_PRICES) } };
  const otherEdits = edits.filter((edit) => !weakeningEdits.includes(edit));
  if (!(await prices.save(otherEdits, call.person.id, now())))
    return { errors: { [field]: PRICE_LIST_TEXTS.changedMeanwhile } };
  if (otherEdits.length > 0) {
    log.info({ by: call.person.id, edits: otherEdits.length }, 'price list changed');
    await call.context.refreshPendingCards();
  }
  const proposalLines =
    weakeningEdits.length === 0
      ? []
      : await proposeToAdmins(call, { kind: 'prices', payload: weakeningEdits });
  const savedLines =
    weakeningEdits.length > 0 && otherEdits.length === 0 ? [] : [pricesSavedText(otherEdits)];
  return { reply: textMessage([...savedLines, ...proposalLines].join('\n')) };
}

const importSchema = z.object(
  createCsvFields('In the format of the download.', {
    label: 'Or paste the prices',
    placeholder: `${PRICE_FIELDS.join(',')}\nrest,renew,1,18.00,2026-11-01,Contract 7`,
    hint: 'A header and one price per line. Prices with the same zone, task, period and day are replaced. Other prices stay.',
  }),
);

const pricesImportForm: FormFeature<'prices_import'> = {
  form: { name: 'prices_import', title: 'Import prices', submit: 'Import', fields: toFields(importSchema) },
  render: (call) => ({ intro: [contextBlock(PRICE_LIST_TEXTS.importIntro(call.context.currency))] }),
  async submit(call) {
    const { prices, currency } = call.context;
    const input = await readCsvInput(call);
    if ('errors' in input) return input;
    const parsed = await parsePrices(input.text, currency);
    if (!parsed.ok) return { errors: { [input.field]: lineIssuesText(parsed.issues) } };
    const list = await prices.list();
    return saveEdits(call, list, diffPrices(list, parsed.prices), input.field);
  },
};

async function buildPricesPage(interaction: Interaction, offset: number): Promise<Message> {
  const { context, person } = interaction;
  const { prices, currency, now, directory } = context;
  const [list, locale] = await Promise.all([prices.list(), directory.findLocale(person.id)]);
  const viewer = { isAdmin: isAdmin(context, person), locale, today: getUtcDay(now()), currency };
  return priceListMessage(list, offset, viewer);
}

async function exportPrices(call: ActionCall): Promise<void> {
  const list = await call.context.prices.list();
  await call.respond(
    await sendFile(call, {
      text: await formatCsvFile([PRICE_COLUMNS, ...list.map(toPriceCells)]),
      filename: `domain-steward-prices-${getUtcDay(call.context.now())}.csv`,
      description: `The price list with ${formatCount(list.length, 'price')}`,
    }),
  );
}

export const prices = {
  commands: [
    {
      usage: 'prices',
      summary: 'Show the price list; admins can change it',
      example: '/domain prices',
      run: async (call: CommandCall) => call.respond(await buildPricesPage(call, 0)),
    },
  ],
  forms: [priceForm, pricesImportForm],
  actions: [
    ...createPageActions('prices', async (call: ActionCall, { offset }) =>
      call.respond(await buildPricesPage(call, offset), { replace: true }),
    ),
    createOpenFormAction('price_add', priceForm),
    createOpenFormAction('price_edit', priceForm, ({ value }) => value),
    createOpenFormAction('prices_import', pricesImportForm),
    { id: 'prices_export', run: exportPrices },
  ],
} as const satisfies Feature;
