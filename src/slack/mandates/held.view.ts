import type { HeldCode } from '../../mandates/codes.ts';

/* Why a mandate does not renew a name. */

const HELD: Readonly<Record<HeldCode, string>> = {
  price_unknown: 'its price is not known',
  price_above: 'its price is above the ceiling',
  total_spent: 'the sum of the mandate does not have it',
  day_full: 'as many go out each day as may, until the last one',
  budget_empty: 'the budget does not have it',
  owner_left: 'its owner has left',
  incident_open: 'something happened to it that nobody has explained yet',
  account_gone: 'the account of the mandate is gone',
  other_account: 'it was renewed last with another account',
  date_in_doubt: 'its registry does not show the date that counts',
  policy_asks_more: 'the policy asks for more than the mandate was given',
  policy_refuses: 'the policy does not allow it',
  earlier_unknown: 'nobody knows yet what became of an earlier renewal',
  too_late: 'there is no time left to say so a day before',
  not_announced: 'I could not say so in Slack a day before',
  moved_out: 'the mandate does not speak of it any more',
  renewed_meanwhile: 'it has been renewed meanwhile',
  let_go: 'two people have decided to let it go',
  mandate_ended: 'it has ended',
};

/** Why, inside a sentence. */
export function heldText(code: HeldCode): string {
  return HELD[code];
}
