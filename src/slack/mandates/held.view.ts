import type { HoldReason } from '../../mandates/codes.ts';

const HOLD_REASON_TEXTS: Readonly<Record<HoldReason, string>> = {
  price_unknown: 'its price is unknown',
  price_above: 'its price is above the maximum',
  total_spent: 'the mandate’s remaining total is too low',
  day_full: 'the daily limit is reached, and this was the last day for it',
  budget_empty: 'the remaining budget is too low',
  owner_left: 'its owner has left',
  incident_open: 'it has an open incident',
  account_gone: 'the mandate’s account is no longer linked',
  other_account: 'it was last renewed with another account',
  date_in_doubt: 'the registry shows another expiry date',
  policy_asks_more: 'the policy requires more approvals than the mandate got',
  policy_refuses: 'the policy doesn’t allow it',
  earlier_unknown: 'the outcome of an earlier renewal is unknown',
  too_late: 'it’s too late to announce it a day before',
  not_announced: 'I couldn’t announce it in Slack a day before',
  moved_out: 'the mandate no longer covers it',
  renewed_meanwhile: 'it was renewed in the meantime',
  set_to_lapse: 'it’s set to lapse',
  mandate_ended: 'the mandate has ended',
};

export function holdReasonText(code: HoldReason): string {
  return HOLD_REASON_TEXTS[code];
}
