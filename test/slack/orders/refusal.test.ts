import { describe, expect, test } from 'vitest';
import type { InputIssue } from '../../../src/orders/input-issue.ts';
import type { Refusal } from '../../../src/orders/refusal.ts';
import type { ItemSummary } from '../../../src/orders/summary.ts';
import { issueText } from '../../../src/slack/orders/input-issue.view.ts';
import { refusalText } from '../../../src/slack/orders/refusal.view.ts';
import { retryReasonText, summaryText } from '../../../src/slack/orders/summary.view.ts';

describe('the text of a refusal', () => {
  test.each<[Refusal, RegExp]>([
    [{ code: 'draft_deleted' }, /^This wasn’t confirmed in time and was dropped\. Request it again/],
    [{ code: 'not_the_requester', action: 'cancel' }, /^Only the requester can cancel this\. An approver/],
    [{ code: 'not_an_approver', action: 'stop' }, /^Only the requester or an approver can stop this\./],
    [
      { code: 'already_open', orderId: 'abc' },
      /already open: `abc`\. To see it, use `\/domain order abc`\.$/,
    ],
    [
      { code: 'wrong_state', action: 'approved', state: 'DENIED' },
      /^This can’t be approved, because the order was denied\. Request it again if you still need it\.$/,
    ],
    [
      { code: 'wrong_state', action: 'claimed', state: 'FAILED' },
      /^This can’t be carried out, because the order failed\. See the reason in its thread\. Retry requests it again\.$/,
    ],
    [
      { code: 'membership_unknown', userId: 'U0BOB' },
      /that <@U0BOB> is still a member\. Try again in a minute/,
    ],
    [
      { code: 'groups_unreadable', groupIds: ['S1', 'S2'] },
      /the members of <!subteam\^S1> and <!subteam\^S2>,/,
    ],
    [
      { code: 'earlier_order', finding: { orderId: 'abc', name: 'a.rest', outcome: 'open' } },
      /^The outcome of order `abc`.* is unknown\. Nothing was sent\. Mark that order as done or failed first\.$/,
    ],
    [
      { code: 'not_failed', state: 'UNKNOWN' },
      /This order was sent, but its outcome is unknown\. An approver has to mark it/,
    ],
    [{ code: 'retry_expired', days: 7 }, /more than 7 days ago, so it can’t be retried\. Request it again/],
    [
      { code: 'undo_expired', hours: 48 },
      /more than 48 hours ago.*can’t be undone here\. Use `\/domain nameservers`/,
    ],
    [
      { code: 'previous_nameservers_unknown' },
      /unknown, so I can’t restore them\. Set them with `\/domain nameservers`/,
    ],
    [{ code: 'nothing_to_undo' }, /no nameservers changed\./],
    [
      { code: 'retry_outcome_unknown' },
      /^A request was sent and got no response, so it may have been carried out and can’t be retried\. Check with the domain service\. If it wasn’t done, request it again with `\/domain`\.$/,
    ],
    [{ code: 'retry_already_done' }, /^This was carried out after all, so it can’t be retried/],
    [
      { code: 'retry_account_gone' },
      /no longer linked\. Link it with `\/domain link` and request it again\.$/,
    ],
    [{ code: 'secret_input_of', ownerId: 'U0ALICE' }, /Only the requester, <@U0ALICE>, can retry/],
    [{ code: 'secret_answer_of', ownerId: 'U0ALICE' }, /a secret of <@U0ALICE>, so only they can retry/],
    [
      { code: 'nothing_to_stop', state: 'SUCCEEDED' },
      /^Nothing is waiting to be sent: the order is already done\./,
    ],
    [{ code: 'secret_key_missing' }, /^An encryption key is missing, .*It’s kept for an hour: try again/],
  ])('says why and what to do: %j', (refusal, words) => {
    expect(refusalText(refusal)).toMatch(words);
  });
});

describe('the text of an input error', () => {
  test.each<[InputIssue, RegExp]>([
    [
      { field: 'names', code: 'too_many_names', max: 50 },
      /^Enter at most 50 names per order, so approvers can review them\.$/,
    ],
    [{ field: 'address', code: 'too_many_lines', max: 10 }, /^Enter at most 10 lines\.$/],
    [{ field: 'title', code: 'text_too_long', max: 255 }, /^Use at most 255 characters\.$/],
    [
      { field: 'period', code: 'zone_issue', issue: { code: 'period_out_of_range', min: 1, max: 10 } },
      /^The period must be a whole number of years from 1 to 10\. Change it\.$/,
    ],
    [
      { field: 'mode', code: 'interfaces_conflict', jsonConstraint: 'mode_HTTP', xmlConstraint: 'title' },
      /^HTTP mode needs the JSON interface, and a title needs XML\. Leave/,
    ],
    [
      { field: 'title', code: 'interface_out_of_reach', needs: 'xml', constraint: 'title' },
      /^A title needs the service’s XML interface.*set SERVICE_XML_URL\.$/,
    ],
  ])('says how to fix the input: %j', (issue, words) => {
    expect(issueText(issue)).toMatch(words);
  });
});

describe('the bot’s text about an item', () => {
  test.each<[ItemSummary, RegExp]>([
    [{ code: 'owner_left' }, /^The account’s owner is no longer a full member/],
    [{ code: 'database_restored' }, /restored from a backup.*It won’t be sent automatically\.$/],
    [
      { code: 'suspended' },
      /suspended.*sent nothing.*may have acted meanwhile.*mark it as done or failed\.$/,
    ],
    [{ code: 'session_ended' }, /session had ended, so it wasn’t carried out\. It wasn’t sent again/],
    [{ code: 'settled', outcome: 'FAILED' }, /^Marked as failed\.$/],
    [
      { code: 'rules_changed', issues: [{ field: 'names', code: 'no_names' }] },
      /^The rules changed since it was requested, so nothing was sent\. Enter at least one name\.$/,
    ],
    [
      { code: 'sending_lost', since: { code: 'earlier_unanswered', since: { code: 'refused' } } },
      /^This was sent, but the bot’s database lost the record\. An earlier request may have reached the service and got no response\. After it: The service refused\.$/,
    ],
    [
      { code: 'earlier_order', orderId: 'abc', outcome: 'done' },
      /^Order `abc`, which this retries, was carried out after all\. Nothing was sent\.$/,
    ],
  ])('describes %j', (summary, words) => {
    expect(summaryText(summary)).toMatch(words);
  });

  test('says why a request is retried', () => {
    expect(retryReasonText({ code: 'busy' })).toBe('The service is busy.');
  });
});
