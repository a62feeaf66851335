import { isTeamAccount } from '../../accounts/account.ts';
import { findRefusedNames } from '../../approvals/requirements.ts';
import { sumByCurrency } from '../../money/amount.ts';
import { toImpactTask } from '../../names/name-orders.ts';
import { buildBulkInput, planBulk, type RowFacts } from '../../orders/bulk/bulk.ts';
import type { BulkTask } from '../../orders/bulk/columns.ts';
import type { BadRow, BulkRow } from '../../orders/bulk/read-csv.ts';
import type { Ownership } from '../../orders/order.ts';
import { filterVisibleOrderIds } from '../../orders/visibility.ts';
import { formatRuleNames } from '../approvals/decision.view.ts';
import { type Interaction, toViewer } from '../feature.ts';
import { type Message, textMessage } from '../kit/blocks.ts';
import { formatCsvFile } from '../kit/csv-file.ts';
import type { FieldErrors, FormOrigin } from '../kit/form.ts';
import { buildRejection, findTimeErrors } from '../orders/order-reply.ts';
import { requestOrderFromForm } from '../orders/ordering.ts';
import { sendFile } from '../send-file.ts';
import { alreadyPlannedText, planMessage, skippedCells } from './bulk.view.ts';

/*
 * Checks the rows of a file, or the failed rows of an earlier order, and saves the valid ones as a draft.
 */

interface PlanRequest {
  readonly task: BulkTask;
  readonly rows: readonly BulkRow[];
  readonly badRows: readonly BadRow[];
  readonly reason: string | undefined;
  readonly sendAt?: string | undefined;
  readonly ownership?: Ownership | undefined;
}

type PlanOutcome = { readonly reply: Message } | { readonly errors: FieldErrors };

const UNKNOWN_NAME_FACTS: RowFacts = { isWatched: false, isLapsing: false };

async function loadRowFacts(
  interaction: Interaction,
  task: BulkTask,
  rows: readonly BulkRow[],
): Promise<ReadonlyMap<string, RowFacts>> {
  const { context, person } = interaction;
  const names = rows.map(({ name }) => name);
  const account = await interaction.loadOrderAccount();
  const usesTeamAccount = account !== undefined && isTeamAccount(account);
  const order = { task, names, requesterId: person.id, input: buildBulkInput(rows), usesTeamAccount };
  const [openOrderIds, watchedNames, useByName, cost, refusingRules] = await Promise.all([
    context.orders.store.findOpenOrders(task, names),
    context.expiry.findMany(names),
    toImpactTask(task) === undefined ? undefined : context.names.impacts.assessUsage(names),
    context.orders.priceOrder(order),
    findRefusedNames(context.orders, order),
  ]);
  const visibleOrderIds = await filterVisibleOrderIds(
    context.orders,
    toViewer(interaction),
    openOrderIds.values(),
  );
  const watchedByName = new Map(watchedNames.map((domain) => [domain.name, domain]));
  const priceByName = new Map(cost?.names.map(({ name, quote }) => [name, quote?.amount]));
  return new Map(
    names.map((name) => {
      const domain = watchedByName.get(name);
      const rules = refusingRules.get(name);
      const openOrderId = openOrderIds.get(name);
      const isVisible = openOrderId !== undefined && visibleOrderIds.has(openOrderId);
      return [
        name,
        {
          openOrderId: isVisible ? openOrderId : undefined,
          hasHiddenOrder: openOrderId !== undefined && !isVisible,
          refusingRuleNames: rules && formatRuleNames(rules),
          isWatched: domain !== undefined,
          expiresAt: domain?.expiry?.at,
          deletedAt: domain?.deletedAt,
          isLapsing: domain?.lapse?.confirmed !== undefined,
          price: priceByName.get(name),
          usage: useByName && (useByName.get(name) ?? 'unknown'),
        },
      ];
    }),
  );
}

/** Saves the valid rows as a draft. Returns the plan with the valid and the skipped rows. */
export async function savePlan(
  interaction: Interaction,
  origin: FormOrigin,
  request: PlanRequest,
): Promise<PlanOutcome> {
  const { context } = interaction;
  const { task } = request;
  const facts = await loadRowFacts(interaction, task, request.rows);
  const plan = planBulk(task, request, (name) => facts.get(name) ?? UNKNOWN_NAME_FACTS, context.now());
  const { rows, skipped, findings } = plan;
  if (skipped.length > 0) {
    await sendFile(interaction, {
      text: await formatCsvFile(skippedCells(skipped)),
      filename: 'domain-steward-skipped-rows.csv',
      description: 'The list of skipped rows',
    });
  }
  const sums = sumByCurrency(rows.flatMap(({ name }) => facts.get(name)?.price ?? []));
  if (rows.length === 0) return { reply: planMessage(plan, undefined, sums) };
  const outcome = await requestOrderFromForm(interaction, origin, {
    task,
    input: {},
    bulk: { rows, findings, skippedCount: skipped.length },
    reason: request.reason,
    sendAt: request.sendAt,
    ...(request.ownership && { ownership: request.ownership }),
  });
  if (outcome.kind !== 'accepted')
    return findTimeErrors(outcome) ?? { reply: await buildRejection(interaction, outcome) };
  const { order } = outcome;
  const reply =
    order.state === 'DRAFT' && order.requesterId === interaction.person.id
      ? planMessage(plan, order, sums)
      : textMessage(alreadyPlannedText(order));
  return { reply };
}
