import { z } from 'zod';
import { formatDecimal } from '../../money/amount.ts';
import { utcDayOf } from '../../money/order-cost.ts';
import type { ListedPrice } from '../../money/ports.ts';
import { isSamePrice, PRICED_TASKS, type PriceEdit, priceEdits, priceKey } from '../../money/prices.ts';
import { PRICE_COLUMNS, PRICE_FIELDS, priceCells, readPrice, readPrices } from '../../money/read-prices.ts';
import { taskNamed } from '../../orders/tasks.ts';
import { loosenedPrices } from '../../policy/loosening.ts';
import { attachedCsv, csvFields } from '../attached-text.ts';
import {
  type ActionCall,
  type Feature,
  type FormFeature,
  type Interaction,
  isAdmin,
  type SubmissionCall,
  type Submitted,
} from '../feature.ts';
import { context, count, textMessage } from '../kit/blocks.ts';
import { csvFile } from '../kit/csv-file.ts';
import { choiceField, field, fieldsOf, readForm, TYPED_OR_EMPTY } from '../kit/form.ts';
import { opening } from '../orders/ordering.ts';
import { MAX_WAITING_PRICES } from '../policy/pending-change.view.ts';
import { waitWithPrices } from '../policy/pending-changes.ts';
import { sendFile } from '../send-file.ts';
import { lineIssues, PRICE_ISSUES, PRICES, priceList, pricesSaved } from './price.view.ts';

/*
 * The team's price list: everybody sees it, admins change it.
 */

function find(list: readonly ListedPrice[], id: string | undefined): ListedPrice | undefined {
  return list.find((price) => price.id === id);
}

/** What is wrong with a price is found where the rows of a file are read too. */
const priced = z.object({
  zone: field({ label: 'Zone', kind: 'text', placeholder: 'rest', isNeeded: true }, TYPED_OR_EMPTY),
  task: choiceField('Task', PRICED_TASKS, TYPED_OR_EMPTY, { isNeeded: true }),
  period: field(
    {
      label: 'Years',
      kind: 'number',
      range: { min: 1, max: 99 },
      hint: 'For create and renew. Without a price for several years, that of 1 year counts for each.',
    },
    TYPED_OR_EMPTY,
  ),
  amount: field({ label: 'Amount', kind: 'text', placeholder: '18.00', isNeeded: true }, TYPED_OR_EMPTY),
  valid_from: field(
    {
      label: 'Valid from',
      kind: 'text',
      placeholder: '2026-11-01',
      hint: 'The first day, as YYYY-MM-DD. The price before it stays in the list.',
      isNeeded: true,
    },
    TYPED_OR_EMPTY,
  ),
  source: field(
    { label: 'Source', kind: 'text', placeholder: 'Contract of 3 October, page 2', isNeeded: true },
    TYPED_OR_EMPTY,
  ),
});

const priceForm: FormFeature<'price'> = {
  form: { name: 'price', title: 'Price', submit: 'Save', fields: fieldsOf(priced) },

  async render(call, origin, values) {
    const edited = find(await call.deps.prices.list(), origin.subject);
    const { currency } = edited?.amount ?? call.deps;
    return {
      values: {
        ...(edited === undefined
          ? { period: '1', valid_from: utcDayOf(call.deps.now()) }
          : {
              zone: edited.zone,
              task: edited.task,
              period: String(edited.period),
              amount: formatDecimal(edited.amount),
              valid_from: edited.validFrom,
              source: edited.source,
            }),
        ...values,
      },
      intro: [context(PRICES.intro(currency))],
    };
  },

  async submit(call) {
    const { prices, currency } = call.deps;
    const { subject } = call.origin;
    const list = await prices.list();
    const edited = find(list, subject);
    if (subject !== undefined && edited === undefined) return { errors: { zone: PRICES.gone } };
    const given = readForm(priced, call.values);
    if ('errors' in given) return given;
    const read = readPrice(given.value, edited?.amount.currency ?? currency);
    if (!read.ok) return errors(read.issues);
    const after = read.price;
    if (edited === undefined) return save(call, list, priceEdits(list, [after]), 'zone');
    if (list.some((price) => price !== edited && priceKey(price) === priceKey(after))) {
      return {
        errors: {
          valid_from: 'The list has a price from this day already. Change that one, or give another day.',
        },
      };
    }
    return save(call, list, isSamePrice(edited, after) ? [] : [{ before: edited, after }], 'zone');
  },
};

function errors(issues: Readonly<Record<string, keyof typeof PRICE_ISSUES>>): Submitted {
  return {
    errors: Object.fromEntries(Object.entries(issues).map(([field, issue]) => [field, PRICE_ISSUES[issue]])),
  };
}

/**
 * Makes edits of the list. Those that let orders fall below an amount that a rule looks at wait for another admin.
 * @param field where an issue is shown
 */
async function save(
  call: SubmissionCall,
  list: readonly ListedPrice[],
  edits: readonly PriceEdit[],
  field: string,
): Promise<Submitted> {
  const { prices, policies, now, log } = call.deps;
  const { rules } = await policies.current();
  const waiting = loosenedPrices(list, edits, { rules, factsOf: taskNamed, today: utcDayOf(now()) });
  if (waiting.length > MAX_WAITING_PRICES)
    return { errors: { [field]: PRICES.tooManyWait(MAX_WAITING_PRICES) } };
  const atOnce = edits.filter((edit) => !waiting.includes(edit));
  if (!(await prices.save(atOnce, call.person.id, now())))
    return { errors: { [field]: PRICES.changedMeanwhile } };
  if (atOnce.length > 0) {
    log.info({ by: call.person.id, edits: atOnce.length }, 'price list changed');
    // Cards of waiting orders show prices.
    await call.deps.refreshWaitingCards();
  }
  const waits = waiting.length === 0 ? [] : await waitWithPrices(call, waiting);
  const saved = waiting.length > 0 && atOnce.length === 0 ? [] : [pricesSaved(atOnce)];
  return { say: textMessage([...saved, ...waits].join('\n')) };
}

const imported = z.object(
  csvFields('As the export gives it.', {
    label: 'Or the prices as text',
    placeholder: `${PRICE_FIELDS.join(',')}\nrest,renew,1,18.00,2026-11-01,Contract 7`,
    hint: 'A header and a price a line. The same zone, task, period and day takes the place of the former price; nothing else is touched.',
  }),
);

const pricesImportForm: FormFeature<'prices_import'> = {
  form: { name: 'prices_import', title: 'Import prices', submit: 'Import', fields: fieldsOf(imported) },
  render: (call) => ({ intro: [context(PRICES.importIntro(call.deps.currency))] }),
  async submit(call) {
    const { prices, currency } = call.deps;
    const given = await attachedCsv(call);
    if ('errors' in given) return given;
    const read = await readPrices(given.text, currency);
    if (!read.ok) return { errors: { [given.field]: lineIssues(read.issues) } };
    const list = await prices.list();
    return save(call, list, priceEdits(list, read.prices), given.field);
  },
};

async function runPrices(call: Interaction): Promise<void> {
  const { prices, currency, now, directory } = call.deps;
  const [list, locale] = await Promise.all([prices.list(), directory.localeOf(call.person.id)]);
  const isReaderAdmin = isAdmin(call.deps, call.person);
  await call.respond(priceList(list, { isAdmin: isReaderAdmin, locale, today: utcDayOf(now()), currency }));
}

async function exportPrices(call: ActionCall): Promise<void> {
  const list = await call.deps.prices.list();
  await call.respond(
    await sendFile(call, {
      text: await csvFile([PRICE_COLUMNS, ...list.map(priceCells)]),
      filename: `domain-steward-prices-${utcDayOf(call.deps.now())}.csv`,
      what: `The price list with ${count(list.length, 'price')}`,
    }),
  );
}

export const prices = {
  commands: [
    {
      usage: 'prices',
      summary: 'Show the price list; admins change it',
      example: '/domain prices',
      run: runPrices,
    },
  ],
  forms: [priceForm, pricesImportForm],
  actions: [
    opening('price_add', priceForm),
    opening('price_edit', priceForm, ({ value }) => value),
    opening('prices_import', pricesImportForm),
    { id: 'prices_export', run: exportPrices },
  ],
} as const satisfies Feature;
