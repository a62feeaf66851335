import { listTwelveMonths } from '../../expiry/chart.ts';
import { iterateSlices } from '../../lib/collections.ts';
import { DAY_MS } from '../../lib/duration.ts';
import { formatDecimal } from '../../money/amount.ts';
import {
  addSpend,
  CONCEALED_KEY,
  calculateSpend,
  forecastRenewals,
  type Purchase,
  parseSpendPeriod,
  type SpendPeriod,
  sumRenewals,
} from '../../money/spend.ts';
import { canSeeAllOrders } from '../../orders/visibility.ts';
import { getUtcDay } from '../../zones/calendar-day.ts';
import {
  type ActionCall,
  type CommandCall,
  type Feature,
  type Interaction,
  isAdmin,
  toViewer,
} from '../feature.ts';
import { formatCsvFile } from '../kit/csv-file.ts';
import { createPageActions } from '../kit/pages.ts';
import { createPersonNameLookup } from '../ledger/actor-names.ts';
import { sendFile } from '../send-file.ts';
import {
  invalidSpendPeriodText,
  SPEND_COLUMNS,
  type SpendFigures,
  spendMessage,
  spendRows,
} from './spend.view.ts';

/** Twelve months, including a leap day. */
const FORECAST_MS = 366 * DAY_MS;

async function runSpend(call: CommandCall): Promise<void> {
  const [periodWord = String(call.context.now().getUTCFullYear()), ...extraWords] = call.words;
  const period = extraWords.length === 0 ? parseSpendPeriod(periodWord) : undefined;
  if (period === undefined) return call.respond(invalidSpendPeriodText(call.words.join(' ')));
  await call.respond(spendMessage(await loadFigures(call, period), 0));
}

async function loadFigures(interaction: Interaction, period: SpendPeriod): Promise<SpendFigures> {
  const { context, person } = interaction;
  const { prices, budgets, spending, orders, directory, currency } = context;
  const now = context.now();
  const { reminderTimezone: timeZone } = await context.loadSettings();
  const [priceList, purchases, unknownOutcomes, renewals, unusedNames, locale, budgetStatuses] =
    await Promise.all([
      prices.list(),
      spending.listPurchases(period.from, period.to),
      spending.countUnknownOutcomes(period.from, period.to),
      spending.countRenewals(now, new Date(now.getTime() + FORECAST_MS), timeZone),
      spending.countUnusedNames(),
      directory.findLocale(person.id),
      budgets.listStatuses(clampDayToPeriod(period, getUtcDay(now))),
    ]);
  const forecast = forecastRenewals(priceList, renewals, listTwelveMonths(now, timeZone), getUtcDay(now));
  const isConcealed = await createConcealmentCheck(interaction, purchases);
  let spend = calculateSpend(priceList, []);
  for await (const slice of iterateSlices(purchases)) {
    const tags = await orders.loadAffectedTags(slice.map(({ name }) => name));
    spend = addSpend(spend, calculateSpend(priceList, slice, tags, isConcealed));
  }
  return {
    period: period.text,
    spend,
    unknownOutcomes,
    forecast,
    unused: sumRenewals(priceList, unusedNames, getUtcDay(now)),
    budgets: budgetStatuses,
    isAdmin: isAdmin(context, person),
    currency,
    locale,
  };
}

/** Returns a function that says whether a purchase is hidden from the person. */
async function createConcealmentCheck(
  interaction: Interaction,
  purchases: readonly Purchase[],
): Promise<(purchase: Purchase) => boolean> {
  const viewer = toViewer(interaction);
  const isPrivateToOthers = ({ privateTo }: Purchase) => privateTo?.includes(viewer.id) === false;
  const canSeeEverything =
    !purchases.some(isPrivateToOthers) || (await canSeeAllOrders(interaction.context.orders, viewer));
  return canSeeEverything ? () => false : isPrivateToOthers;
}

function clampDayToPeriod({ from, to }: SpendPeriod, today: string): string {
  const lastDay = getUtcDay(new Date(to.getTime() - 1));
  return [getUtcDay(from), today, lastDay].sort()[1] ?? today;
}

async function exportSpend(interaction: Interaction, period: SpendPeriod): Promise<void> {
  const figures = await loadFigures(interaction, period);
  const lookUpName = createPersonNameLookup(interaction.context.directory);
  const namePromises = figures.spend.byPerson
    .filter(({ key }) => key !== CONCEALED_KEY)
    .map(async ({ key }) => [key, await lookUpName(key)] as const);
  const names = new Map(await Promise.all(namePromises));
  const rows = spendRows(figures, (userId) => names.get(userId) ?? userId, formatDecimal);
  await interaction.respond(
    await sendFile(interaction, {
      text: await formatCsvFile([SPEND_COLUMNS, ...rows]),
      filename: `domain-steward-spend-${period.text}.csv`,
      description: `Spending in ${period.text}`,
    }),
  );
}

export const spend = {
  commands: [
    {
      usage: 'spend [YEAR or MONTH]',
      summary: 'Show spending, budgets and upcoming renewals',
      example: '/domain spend 2026-11',
      run: runSpend,
    },
  ],
  actions: [
    ...createPageActions('budgets', async (call: ActionCall, { of: periodText, offset }) => {
      const period = parseSpendPeriod(periodText);
      if (period !== undefined)
        await call.respond(spendMessage(await loadFigures(call, period), offset), { replace: true });
    }),
    {
      id: 'spend_export',
      run: async (call) => {
        const period = parseSpendPeriod(call.value);
        if (period !== undefined) await exportSpend(call, period);
      },
    },
  ],
} as const satisfies Feature;
