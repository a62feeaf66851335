import { listNextTwelveMonths } from '../../expiry/chart.ts';
import { iterateSlices } from '../../lib/collections.ts';
import { DAY_MS } from '../../lib/duration.ts';
import { formatDecimal } from '../../money/amount.ts';
import {
  addSpend,
  CONCEALED,
  calculateSpend,
  forecastRenewals,
  type Purchase,
  parseSpendPeriod,
  type SpendPeriod,
  sumRenewals,
} from '../../money/spend.ts';
import { canSeeAll } from '../../orders/visibility.ts';
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
import { createNameLookup } from '../ledger/actor-names.ts';
import { sendFile } from '../send-file.ts';
import {
  invalidSpendSpanText,
  SPEND_COLUMNS,
  type SpendFigures,
  spendMessage,
  spendRows,
} from './spend.view.ts';

/** Twelve months, including a leap day. */
const FORECAST_MS = 366 * DAY_MS;

async function runSpend(call: CommandCall): Promise<void> {
  const [word = String(call.context.now().getUTCFullYear()), ...more] = call.words;
  const period = more.length === 0 ? parseSpendPeriod(word) : undefined;
  if (period === undefined) return call.respond(invalidSpendSpanText(call.words.join(' ')));
  await call.respond(spendMessage(await loadFigures(call, period), 0));
}

async function loadFigures(interaction: Interaction, period: SpendPeriod): Promise<SpendFigures> {
  const { context, person } = interaction;
  const { prices, budgets, spending, orders, directory, currency } = context;
  const now = context.now();
  const { reminderTimezone: timeZone } = await context.savedSettings();
  const [list, purchases, unknownOutcomes, renewals, unused, locale, statuses] = await Promise.all([
    prices.list(),
    spending.listPurchases(period.from, period.to),
    spending.countUnknownOutcomes(period.from, period.to),
    spending.countRenewals(now, new Date(now.getTime() + FORECAST_MS), timeZone),
    spending.listUnused(),
    directory.findLocale(person.id),
    budgets.listStatuses(clampToPeriod(period, getUtcDay(now))),
  ]);
  const forecast = forecastRenewals(list, renewals, listNextTwelveMonths(now, timeZone), getUtcDay(now));
  const isConcealed = await createConcealmentCheck(interaction, purchases);
  let spend = calculateSpend(list, []);
  for await (const slice of iterateSlices(purchases)) {
    const tags = await orders.loadAffectedTags(slice.map(({ name }) => name));
    spend = addSpend(spend, calculateSpend(list, slice, tags, isConcealed));
  }
  return {
    period: period.text,
    spend,
    unknownOutcomes,
    forecast,
    unused: sumRenewals(list, unused, getUtcDay(now)),
    budgets: statuses,
    isAdmin: isAdmin(context, person),
    currency,
    locale,
  };
}

/** @returns whether a purchase is hidden from the person. Approver groups are looked up only if needed. */
async function createConcealmentCheck(
  interaction: Interaction,
  purchases: readonly Purchase[],
): Promise<(purchase: Purchase) => boolean> {
  const viewer = toViewer(interaction);
  const isPrivateToOthers = ({ privateTo }: Purchase) => privateTo?.includes(viewer.id) === false;
  const canSeeEverything =
    !purchases.some(isPrivateToOthers) || (await canSeeAll(interaction.context.orders, viewer));
  return canSeeEverything ? () => false : isPrivateToOthers;
}

function clampToPeriod({ from, to }: SpendPeriod, today: string): string {
  const lastDay = getUtcDay(new Date(to.getTime() - 1));
  return [getUtcDay(from), today, lastDay].sort()[1] ?? today;
}

async function exportSpend(interaction: Interaction, period: SpendPeriod): Promise<void> {
  const figures = await loadFigures(interaction, period);
  const lookUp = createNameLookup(interaction.context.directory);
  const people = figures.spend.byPerson
    .filter(({ key }) => key !== CONCEALED)
    .map(async ({ key }) => [key, await lookUp(key)] as const);
  const names = new Map(await Promise.all(people));
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
    ...createPageActions('budgets', async (call: ActionCall, { of, offset }) => {
      const span = parseSpendPeriod(of);
      if (span !== undefined)
        await call.respond(spendMessage(await loadFigures(call, span), offset), { replace: true });
    }),
    {
      id: 'spend_export',
      run: async (call) => {
        const span = parseSpendPeriod(call.value);
        if (span !== undefined) await exportSpend(call, span);
      },
    },
  ],
} as const satisfies Feature;
