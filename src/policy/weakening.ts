import { groupBy } from '../lib/collections.ts';
import type { Amount } from '../money/amount.ts';
import {
  findQuote,
  formatPriceKey,
  getZone,
  isSamePrice,
  type Price,
  type PriceEdit,
} from '../money/prices.ts';
import { matchesTask, type TaskRisk } from './evaluate.ts';
import { type PolicyRule, parseTagPattern } from './policy.ts';
import { toAffectedName } from './subject.ts';

/** Changes that weaken approval need confirmation. All other changes apply immediately. */

interface ProtectedSettings {
  readonly approvers: readonly string[];
  readonly silentApprovers: readonly string[];
  readonly approvalsRequired: number;
  readonly approvalTasks: readonly string[];
  readonly allowSelfApproval: boolean;
}

/** Keyed by the settings' stored names. */
const WEAKENING_CHECKS = {
  // Any added approver weakens approval, even if others are removed.
  approvers: (before, after) => after.approvers.some((id) => !listAllApprovers(before).includes(id)),
  silent_approvers: (before, after) =>
    after.silentApprovers.some((id) => !listAllApprovers(before).includes(id)),
  approvals_required: (before, after) => after.approvalsRequired < before.approvalsRequired,
  approval_tasks: (before, after) => before.approvalTasks.some((task) => !after.approvalTasks.includes(task)),
  allow_self_approval: (before, after) => after.allowSelfApproval && !before.allowSelfApproval,
} satisfies Record<string, (before: ProtectedSettings, after: ProtectedSettings) => boolean>;

function listAllApprovers({ approvers, silentApprovers }: ProtectedSettings): readonly string[] {
  return [...approvers, ...silentApprovers];
}

export const PROTECTED_SETTINGS = [
  'approvers',
  'silent_approvers',
  'approvals_required',
  'approval_tasks',
  'allow_self_approval',
] as const;

export function findWeakenedSettings(
  before: ProtectedSettings,
  after: ProtectedSettings,
): ReadonlySet<string> {
  return new Set(
    Object.entries(WEAKENING_CHECKS)
      .filter(([, weakens]) => weakens(before, after))
      .map(([name]) => name),
  );
}

/** The limits that an order's price is checked against. */
export interface PriceLimits {
  readonly rules: readonly PolicyRule[];
  /** Active mandates. `maxPrice` is per name and year. */
  readonly mandates: readonly { readonly names: readonly string[]; readonly maxPrice: Amount }[];
  readonly budgets: readonly { readonly amount: Amount }[];
  readonly getTaskRisk: (task: Price['task']) => TaskRisk;
  /** YYYY-MM-DD. Prices for earlier days don't matter. */
  readonly today: string;
}

/**
 * Finds price edits that weaken a rule's `over` threshold, a mandate's limit or a budget. A missing price counts as
 * exceeding every limit.
 */
export function findWeakeningEdits(
  prices: readonly Price[],
  edits: readonly PriceEdit[],
  limits: PriceLimits,
): readonly PriceEdit[] {
  const pricesByTask = groupBy(prices, formatTaskKey);
  const weakensLimits = (edit: PriceEdit, price: Price): boolean => {
    const { orderLimits, perNameLimits } = findApplicableLimits(price, limits);
    if (orderLimits.length + perNameLimits.length === 0) return false;
    const pricesBefore = pricesByTask.get(formatTaskKey(price)) ?? [];
    const pricesAfter = [
      ...pricesBefore.filter((oldPrice) => !isReplaced(oldPrice, edit)),
      ...(formatTaskKey(edit.after) === formatTaskKey(price) ? [edit.after] : []),
    ];
    return listPriceChangeDates([...pricesBefore, ...pricesAfter], limits.today).some((day) => {
      const [amountBefore, amountAfter] = [
        findAmount(pricesBefore, price, day),
        findAmount(pricesAfter, price, day),
      ];
      if (
        amountAfter === undefined ||
        (amountBefore?.currency === amountAfter.currency && amountAfter.minor >= amountBefore.minor)
      )
        return false;
      const isWithin = (amount: Amount | undefined, { currency, minor }: Amount) =>
        amount?.currency === currency && amount.minor <= minor;
      // Order limits apply to the order's total, which can exceed a limit that no single price exceeds.
      return (
        orderLimits.some((limit) => isWithin(amountAfter, limit)) ||
        perNameLimits.some((limit) => isWithin(amountAfter, limit) && !isWithin(amountBefore, limit))
      );
    });
  };
  return edits.filter(
    (edit) =>
      weakensLimits(edit, edit.after) || (edit.before !== undefined && weakensLimits(edit, edit.before)),
  );
}

function formatTaskKey({ zone, task }: Price): string {
  return `${task} ${zone}`;
}

function isReplaced(price: Price, { before, after }: PriceEdit): boolean {
  return (
    formatPriceKey(price) === formatPriceKey(after) || (before !== undefined && isSamePrice(price, before))
  );
}

function listPriceChangeDates(prices: readonly Price[], today: string): readonly string[] {
  return [...new Set([today, ...prices.map(({ validFrom }) => validFrom).filter((day) => day > today)])];
}

function findAmount(prices: readonly Price[], { zone, task, period }: Price, day: string) {
  return findQuote(prices, { name: `any.${zone}`, task, period }, day)?.amount;
}

function findApplicableLimits(
  { zone, task, period }: Price,
  { rules, mandates, budgets, getTaskRisk }: PriceLimits,
) {
  const canMatch = (names: readonly string[]) => names.some((pattern) => canMatchZone(pattern, zone));
  const ruleLimits = rules
    .filter((rule) => matchesTask(rule, task, getTaskRisk(task)) && canMatch(rule.names))
    .flatMap(({ over }) => over ?? []);
  const canHaveMandate = task === 'renew' && period === 1;
  const matchingMandates = canHaveMandate ? mandates.filter(({ names }) => canMatch(names)) : [];
  return {
    orderLimits: [...ruleLimits, ...budgets.map(({ amount }) => amount)],
    perNameLimits: matchingMandates.map(({ maxPrice }) => maxPrice),
  };
}

/** Whether a pattern can match a direct child of a zone. Tag patterns can: any name can have any tag. */
function canMatchZone(pattern: string, zone: string): boolean {
  if (pattern === '*' || parseTagPattern(pattern) !== undefined) return true;
  return pattern.startsWith('*.')
    ? `.${zone}`.endsWith(pattern.slice(1))
    : getZone(pattern) === zone || toAffectedName(zone, 'host').hosts.includes(pattern);
}
